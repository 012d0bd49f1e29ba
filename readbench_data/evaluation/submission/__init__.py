"""Submissions: a folder with a method of your own, which the harness runs in a sandbox without access to the labels."""

from readbench_data.evaluation.submission.export import export
from readbench_data.evaluation.submission.guard import Limits
from readbench_data.evaluation.submission.harness import new, run_submission, validate
from readbench_data.evaluation.submission.sandbox import can_isolate
from readbench_data.evaluation.submission.verification import verify_submission

__all__ = ["Limits", "can_isolate", "export", "new", "run_submission", "validate", "verify_submission"]
