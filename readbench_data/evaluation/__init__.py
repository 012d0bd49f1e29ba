"""Methods, metrics, statistics and the leaderboard: a release in, rankings and what they say out.

``release_data``   a release folder as labels and windows          ``task``      one dataset, and a view of it at one level
``windows``        channels by name, one length, standardised      ``methods/``  the scorers, one family a module
``metrics, ties``  what a ranking is worth; how ties are ordered   ``registry``  methods by name
``protocol``       every method on every dataset at every level    ``store``     rankings and scores, one file a unit
``results``        rows out of stored units                        ``leaderboard`` the table
"""

from readbench_data.evaluation.leaderboard import Leaderboard, leaderboard
from readbench_data.evaluation.protocol import evaluate, evaluate_methods
from readbench_data.evaluation.registry import method_names
from readbench_data.evaluation.results import EvaluationResult

__all__ = ["EvaluationResult", "Leaderboard", "evaluate", "evaluate_methods", "leaderboard", "method_names"]
