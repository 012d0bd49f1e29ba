"""The pages of the Data Docs: an index over all suites, and each subject's checks with what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from readbench_data.pages.html import Html, page, paragraph, section, table
from readbench_data.release.lane_records import CheckResult

LIMIT = 160
"""Characters of an observed value that are shown."""


@dataclass(frozen=True)
class SuiteResult:
    """A suite on one table of ``rows``: each outcome with what was expected in the words of Great Expectations."""

    stage: str
    rows: int
    checks: Sequence[tuple[CheckResult, str]]

    def verdict(self) -> str:
        """All checks in a few words."""
        failed = [o for o, _ in self.checks if not o.passed]
        blocking = sum(o.blocking for o in failed)
        if not failed:
            return f"all {len(self.checks)} passed"
        told = [f"{blocking} failed" if blocking else "", _warnings(len(failed) - blocking)]
        return f"{', '.join(t for t in told if t)} of {len(self.checks)}"


def _warnings(n: int) -> str:
    return "" if not n else f"{n} warning{'s' if n > 1 else ''}"


def index_page(found: Mapping[str, Sequence[SuiteResult]]) -> str:
    """Every subject with the verdict of each of its suites, linked to the checks."""
    stages = list(dict.fromkeys(r.stage for results in found.values() for r in results))
    rows = []
    for subject, results in found.items():
        cells = {
            r.stage: Html(f'<a href="{subject}.html#{r.stage}">{_marked(r.verdict(), _worst(r))}</a>') for r in results
        }
        rows.append([Html(f'<a href="{subject}.html">{subject}</a>'), *(cells.get(stage, "") for stage in stages)])
    told = "Each suite of checks on each dataset, and on the release as a whole. What failed stops a build; a warning "
    told += "is shown and stops nothing."
    body = [section("suites", "Suites", paragraph(told), table("Verdict of every suite", ["subject", *stages], rows))]
    return page("Quality checks", body)


def subject_page(subject: str, results: Sequence[SuiteResult]) -> str:
    """Every check of a subject, suite by suite: what failed first."""
    body = [section(r.stage, r.stage.capitalize(), paragraph(_lead(r)), _checks(r)) for r in results]
    back = '<p><a href="index.html">All quality checks</a></p>'
    return page(f"Quality checks of {subject}", body, [(r.stage, r.stage) for r in results], back)


def _lead(result: SuiteResult) -> str:
    return f"{result.verdict().capitalize()}; looked at {result.rows:,} row{'' if result.rows == 1 else 's'}."


def _checks(result: SuiteResult) -> str:
    ordered = sorted(result.checks, key=lambda check: (check[0].passed, not check[0].blocking))
    rows = [
        [_named(outcome), Html(_marked(_verdict(outcome), outcome)), expected, _seen(outcome)]
        for outcome, expected in ordered
    ]
    header = ["check", "outcome", "what is expected", "what was seen"]
    return table(f"Checks of {result.stage}", header, rows)


def _named(outcome: CheckResult) -> Html:
    return Html(f"<b>{escape(outcome.check)}</b><br>{escape(outcome.description)}")


def _worst(result: SuiteResult) -> CheckResult:
    return min((o for o, _ in result.checks), key=lambda o: (o.passed, not o.blocking))


def _verdict(outcome: CheckResult) -> str:
    if outcome.passed:
        return "passed"
    return "failed: stops a build" if outcome.blocking else "warning"


def _marked(text: str, outcome: CheckResult) -> str:
    """A verdict that also reads without its colour."""
    return text if outcome.passed else f'<span class="warn">{text}</span>'


def _seen(outcome: CheckResult) -> str:
    """The observed values in words, the telling ones first."""
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
