"""LDP-hierarchical-mechanism: a tree of one dimension, each person on one level, consistent."""

import numpy as np
from exchange import answer, cannot, imported, task

FANOUT = 4

parameters, codes, queries = task()
if len(parameters["sizes"]) > 1:
    cannot("one dimension only")
package = imported("hierarchical_mechanism_LDP")
np.random.seed(parameters["seed"])
tree = package.Private_TreeBary(
    parameters["sizes"][0],
    FANOUT,
    parameters["epsilon"],
    protocol="unary_encoding",
    on_all_levels=False,
)
tree.update_tree(codes[:, 0])
tree.compute_attributes()
tree.post_process()
# Its own get_range_query leaves the first code of a range out, so the sums are read directly.
running = np.concatenate([[0.0], np.asarray(tree.cdf)])
answer([running[int(hi)] - running[int(lo)] for ((lo, hi),) in queries])
