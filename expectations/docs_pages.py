"""The pages of the Data Docs: an index of all suites, and the checks of each subject with the observed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from readbench_data.pages.page import render_page
from readbench_data.pages.wording import counted
from readbench_data.release.lane_records import CheckResult

LIMIT = 160
"""Maximum number of characters of an observed value that are shown."""


@dataclass(frozen=True)
class SuiteResult:
    """The results of a suite on one table with ``rows`` rows: each outcome with what was expected, in the words of
    Great Expectations."""

    stage: str
    rows: int
    checks: Sequence[tuple[CheckResult, str]]

    def verdict(self) -> str:
        """Return the result of all checks in a few words."""
        failed = [o for o, _ in self.checks if not o.passed]
        blocking = sum(o.blocking for o in failed)
        if not failed:
            return f"all {len(self.checks)} passed"
        counts = [f"{blocking} failed" if blocking else "", _warnings(len(failed) - blocking)]
        return f"{', '.join(count for count in counts if count)} of {len(self.checks)}"


def _warnings(n: int) -> str:
    return counted(n, "warning") if n else ""


def index_page(found: Mapping[str, Sequence[SuiteResult]]) -> str:
    """Return the page that lists every subject with the verdict of each suite, linked to its checks."""
    stages = list(dict.fromkeys(r.stage for results in found.values() for r in results))
    rows = []
    for subject, results in found.items():
        page = f"{subject}.html"
        cells = {r.stage: _link(f"{page}#{r.stage}", _marked(r.verdict(), _worst(r))) for r in results}
        rows.append([_link(page, subject), *(cells.get(stage, "") for stage in stages)])
    return render_page(f"{__package__}/docs_pages_index.html.j2", rows=rows, stages=stages)


def subject_page(subject: str, results: Sequence[SuiteResult]) -> str:
    """Every check of a subject, suite by suite: what failed first."""
    return render_page(
        f"{__package__}/docs_pages_subject.html.j2",
        subject=subject,
        sections={r.stage: r.stage for r in results},
        results=[(r, _checks(r)) for r in results],
    )


def _checks(result: SuiteResult) -> list[list[str]]:
    ordered = sorted(result.checks, key=lambda check: (check[0].passed, not check[0].blocking))
    named = Markup("<b>{}</b><br>{}").format
    return [[named(o.check, o.description), _marked(_verdict(o), o), expected, _seen(o)] for o, expected in ordered]


def _link(address: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, text)


def _worst(result: SuiteResult) -> CheckResult:
    return min((o for o, _ in result.checks), key=lambda o: (o.passed, not o.blocking))


def _verdict(outcome: CheckResult) -> str:
    if outcome.passed:
        return "passed"
    return "failed: stops the build" if outcome.blocking else "warning"


def _marked(text: str, outcome: CheckResult) -> str:
    """A verdict that also reads without its colour."""
    return text if outcome.passed else Markup('<span class="warn">{}</span>').format(text)


def _seen(outcome: CheckResult) -> str:
    """The observed values in words, the most informative ones first."""
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
