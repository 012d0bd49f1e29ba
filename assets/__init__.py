"""The Dagster graph: one lane of assets per source, then release, published, evaluation, leaderboard.

Belongs here: assets, checks, metadata, resources and jobs. Does not: the rules of the benchmark (``readbench_data``)
and anything specific to a dataset (``sources``).
"""
