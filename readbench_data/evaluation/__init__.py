"""Methods, metrics, statistics and the leaderboard of a release.

Packages, in import order:

``kernels``     compiled or batched arithmetic on plain arrays
``scoring``     ties, metrics, the expectation of a random order, the cost of a run
``task``        a release as labels, aligned windows, and one view per level
``statistics``  tests over datasets, intervals, and their figure
``methods``     the scorers, one module per family, and their registry
``run``         every method on every dataset at every level; stored results
``board``       the leaderboard and its text, file and page forms
``submission``  methods from outside, run in a jail
"""
