"""Asset checks, created from the suites in ``expectations``. Belongs here: the translation. Does not: any rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

import expectations
from expectations import CheckResult

HAS_DATA = "has_data"
COMPLETE = "complete"


def specs(asset: dg.AssetKey, *suites: str) -> list[dg.AssetCheckSpec]:
    """Return one check per expectation of the suites."""
    return [
        dg.AssetCheckSpec(name, asset=asset, blocking=blocking, description=why)
        for stage in suites
        for name, why, blocking in expectations.checks(stage)
    ]


def raw_specs(asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Return the checks whether any original files of a dataset exist, and whether all of them do."""
    return [
        dg.AssetCheckSpec(HAS_DATA, asset=asset, description="there are original files"),
        dg.AssetCheckSpec(COMPLETE, asset=asset, description="no file of the complete source is missing"),
    ]


def spec(asset: dg.AssetKey, name: str, why: str, blocking: bool = False) -> dg.AssetCheckSpec:
    """Return a check that belongs to no suite, for one of the assets after the lanes; advisory unless ``blocking``."""
    return dg.AssetCheckSpec(name, asset=asset, description=why, blocking=blocking)


def result(
    asset: dg.AssetKey, declared: tuple[str, str], passed: bool, observed: Mapping[str, Any], blocking: bool = False
) -> dg.AssetCheckResult:
    """Return the result of a check created by :func:`spec`."""
    return dg.AssetCheckResult(
        check_name=declared[0],
        asset_key=asset,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR if blocking else dg.AssetCheckSeverity.WARN,
        description=declared[1],
        metadata={name: _shown(value) for name, value in observed.items()},
    )


def results(found: Iterable[CheckResult], asset: dg.AssetKey) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of a suite as check results of the lineage view."""
    for one in found:
        yield dg.AssetCheckResult(
            check_name=one.check,
            asset_key=asset,
            passed=one.passed,
            severity=dg.AssetCheckSeverity.ERROR if one.blocking else dg.AssetCheckSeverity.WARN,
            description=one.description,
            metadata={name: _shown(value) for name, value in one.observed.items()},
        )


def _shown(value: Any) -> Any:
    return value if isinstance(value, (int, float, str)) else dg.MetadataValue.json(value)


def raw_results(asset: dg.AssetKey, reason: str | None, missing: Sequence[str]) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of :func:`raw_specs`; both are advisory, because absent data never stop other datasets.

    ``reason``: why there are no data, or None.
    """
    warn = dg.AssetCheckSeverity.WARN
    yield dg.AssetCheckResult(
        check_name=HAS_DATA, asset_key=asset, passed=reason is None, severity=warn, metadata={"reason": reason or "-"}
    )
    yield dg.AssetCheckResult(
        check_name=COMPLETE,
        asset_key=asset,
        passed=reason is None and not missing,
        severity=warn,
        metadata={"missing": dg.MetadataValue.json(list(missing[:50])), "missing_count": len(missing)},
    )
