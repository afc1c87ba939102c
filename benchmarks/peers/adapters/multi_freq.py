"""multi-freq-ldpy: its adaptive oracle (GRR or OUE) over the codes of one dimension."""

import numpy as np
from exchange import answer, cannot, imported, range_shares, task

parameters, codes, queries = task()
if len(parameters["sizes"]) > 1:
    cannot("several dimensions give their single distributions only, no joint one")
adaptive = imported("multi_freq_ldpy.pure_frequency_oracles.ADP")
np.random.seed(parameters["seed"])
(size,), epsilon = parameters["sizes"], parameters["epsilon"]
reports = [adaptive.ADP_Client(code, size, epsilon) for code in codes[:, 0].tolist()]
answer(range_shares(np.asarray(adaptive.ADP_Aggregator_MI(reports, size, epsilon)), queries))
