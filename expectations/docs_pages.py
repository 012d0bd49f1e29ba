"""The pages of the Data Docs: an index of all suites, and the checks of each subject with the observed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from expectations import Outcome
from readbench_data.pages.html import Html, page, paragraph, section, table

LIMIT = 160
"""Maximum number of characters of an observed value that are shown."""


@dataclass(frozen=True)
class SuiteResult:
    """The results of a suite on one table with ``rows`` rows: each outcome with what was expected, in the words of
    Great Expectations."""

    stage: str
    rows: int
    checks: Sequence[tuple[Outcome, str]]

    def verdict(self) -> str:
        """Return the result of all checks in a few words."""
        failed = [o for o, _ in self.checks if not o.passed]
        blocking = sum(o.blocking for o in failed)
        if not failed:
            return f"all {len(self.checks)} passed"
        parts = [f"{blocking} failed" if blocking else "", _warnings(len(failed) - blocking)]
        return f"{', '.join(p for p in parts if p)} of {len(self.checks)}"


def _warnings(n: int) -> str:
    return "" if not n else f"{n} warning{'s' if n > 1 else ''}"


def index_page(found: Mapping[str, Sequence[SuiteResult]]) -> str:
    """Return the page that lists every subject with the verdict of each suite, linked to its checks."""
    stages = list(dict.fromkeys(r.stage for results in found.values() for r in results))
    rows = []
    for subject, results in found.items():
        cells = {
            r.stage: Html(f'<a href="{subject}.html#{r.stage}">{_marked(r.verdict(), _worst(r))}</a>') for r in results
        }
        rows.append([Html(f'<a href="{subject}.html">{subject}</a>'), *(cells.get(stage, "") for stage in stages)])
    lead = "The results of each suite of checks on each dataset and on the release as a whole. A failed blocking check "
    lead += "stops the build; a warning is shown and does not stop it."
    body = [section("suites", "Suites", paragraph(lead), table("Verdict of every suite", ["subject", *stages], rows))]
    return page("Quality checks", body)


def subject_page(subject: str, results: Sequence[SuiteResult]) -> str:
    """Return the page with every check of a subject, suite by suite, failed checks first."""
    body = [section(r.stage, r.stage.capitalize(), paragraph(_lead(r)), _checks(r)) for r in results]
    back = '<p><a href="index.html">All quality checks</a></p>'
    return page(f"Quality checks of {subject}", body, [(r.stage, r.stage) for r in results], back)


def _lead(result: SuiteResult) -> str:
    return f"{result.verdict().capitalize()}; checked {result.rows:,} row{'' if result.rows == 1 else 's'}."


def _checks(result: SuiteResult) -> str:
    ordered = sorted(result.checks, key=lambda check: (check[0].passed, not check[0].blocking))
    rows = [
        [_named(outcome), Html(_marked(_verdict(outcome), outcome)), expected, _seen(outcome)]
        for outcome, expected in ordered
    ]
    header = ["check", "outcome", "expected", "observed"]
    return table(f"Checks of {result.stage}", header, rows)


def _named(outcome: Outcome) -> Html:
    return Html(f"<b>{escape(outcome.check)}</b><br>{escape(outcome.description)}")


def _worst(result: SuiteResult) -> Outcome:
    return min((o for o, _ in result.checks), key=lambda o: (o.passed, not o.blocking))


def _verdict(outcome: Outcome) -> str:
    if outcome.passed:
        return "passed"
    return "failed: stops the build" if outcome.blocking else "warning"


def _marked(text: str, outcome: Outcome) -> str:
    """Mark a verdict that did not pass; the text is understandable without the colour."""
    return text if outcome.passed else f'<span class="warn">{text}</span>'


def _seen(outcome: Outcome) -> str:
    """Return the observed values as text, the most informative ones first."""
    seen = dict(outcome.observed)
    parts: list[str] = []
    if "exception" in seen:
        parts.append(f"could not be evaluated: {seen['exception']}")
    if "observed_value" in seen:
        parts.append(_number(seen["observed_value"]))
    if "element_count" in seen:
        wrong, of = seen.get("unexpected_count", 0), seen["element_count"]
        parts.append(f"{_number(wrong)} of {_number(of)} unexpected")
    if examples := seen.get("partial_unexpected_list"):
        parts.append("such as " + ", ".join(dict.fromkeys(str(e) for e in examples)))
    text = "; ".join(parts)
    return text if len(text) <= LIMIT else f"{text[: LIMIT - 1]}…"


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
