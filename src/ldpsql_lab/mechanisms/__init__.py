"""The papers' mechanisms that nobody deploys: HI, HH, HaarHRR, AHEAD, truthful, graded."""
