"""The HTML kit and the text helpers that audit, expectations and evaluation share."""
