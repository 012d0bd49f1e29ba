"""The Dagster graph: a lane of assets for every source, then release, published, evaluation, leaderboard.

What belongs here: assets, checks, metadata, resources and jobs. What does not: any rule of the benchmark (that
is ``readbench_data``) and anything special to a dataset (that is ``sources``).
"""
