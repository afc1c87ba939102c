"""pure-ldp: its fast local hashing over all cells; a range is the sum of its cells.

Everybody draws one of a fixed pool of hash functions, whose collisions are a bias that more people
do not lessen. So the pool is as large as a matrix of a few seconds' work allows.
"""

import random

import numpy as np
from exchange import answer, cannot, imported, range_shares, task

ENTRIES, MOST_CELLS = 4_000_000, 4096

parameters, codes, queries = task()
hashing = imported("pure_ldp.frequency_oracles.local_hashing")
cells = int(np.prod(parameters["sizes"]))
if cells > MOST_CELLS:
    cannot(f"its hashes of {cells} cells would be computed value by value")
hashes = ENTRIES // cells
random.seed(parameters["seed"]), np.random.seed(parameters["seed"])
shared = {"epsilon": parameters["epsilon"], "d": cells, "k": hashes, "use_olh": True}
client = hashing.FastLHClient(**shared, index_mapper=int)
server = hashing.FastLHServer(**shared, index_mapper=int)
for cell in np.ravel_multi_index(codes.T, parameters["sizes"]).tolist():
    server.aggregate(client.privatise(cell))
estimated = [server.estimate(cell, suppress_warnings=True) for cell in range(cells)]
answer(range_shares(np.array(estimated).reshape(parameters["sizes"]) / len(codes), queries))
