"""What a ranking scores: ties, metrics, the expectation of a random order, and the cost of a run."""
