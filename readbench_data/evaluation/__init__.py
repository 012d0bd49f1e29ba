"""Methods, metrics, statistics and the leaderboard: a release in, rankings and what they say out.

``release_data``  a release folder as labels and windows
``windows``       channels by name, one length, standardised
``task``          one dataset, and the view of it a method gets at one level
``methods/``      the scorers, one family a module; ``kernels/`` their arithmetic
``registry``      methods and pipelines by name
``ties``          scores to an order, ``metrics`` what an order is worth, ``chance`` what a random one is worth
``protocol``      every method on every dataset at every level
``store``         rankings and scores, one file a unit; ``results`` rows out of them; ``pruning`` of what is not used
``leaderboard``   the table; ``board_text``, ``page`` and ``board_files`` are its forms
"""

from readbench_data.evaluation.leaderboard import Leaderboard, leaderboard
from readbench_data.evaluation.protocol import evaluate, evaluate_methods
from readbench_data.evaluation.registry import method_names
from readbench_data.evaluation.results import EvaluationResult

__all__ = ["EvaluationResult", "Leaderboard", "evaluate", "evaluate_methods", "leaderboard", "method_names"]
