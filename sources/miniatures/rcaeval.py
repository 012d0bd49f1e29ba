"""A small stand-in for RCAEval RE1 in the archive's layout; the behaviour of the services is made up. 75 of the 375
cases, in 35 of the 75 groups; one group per fault has all five repetitions. The columns are those that public code
names (Online Boutique in its two vocabularies, Sock Shop) and a made-up choice of Train Ticket services that brings the
union to the printed 429. All series except one are shorter than the original ones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

FAULTS = ("cpu", "mem", "disk", "delay", "loss")
CASES = {
    "OB": {"adservice": 5, "cartservice": 2},
    "SS": {"carts": 2, "orders": 1, "user": 1},
    "TT": {"ts-auth-service": 2, "ts-order-service": 1, "ts-route-service": 1},
}
LONG_CASE = ("OB", "adservice", "cpu", 1)
SHORT_AFTER = ("SS", "user", "mem", 1)
EMPTY_TAIL = ("OB", "cartservice", "cpu", 2)
LATE_METRIC = ("TT", "ts-auth-service", "delay", 1)
EPOCH = 1_685_200_000

OB = (
    *("adservice", "cartservice", "checkoutservice", "currencyservice", "emailservice", "frontend"),
    *("paymentservice", "productcatalogservice", "recommendationservice", "redis", "shippingservice"),
)
SS = ("carts", "catalogue", "front-end", "orders", "payment", "shipping", "user")
SS_ALL = (*SS, "carts-db", "catalogue-db", "orders-db", "queue-master", "rabbitmq", "session-db", "user-db")
TT = tuple(
    f"ts-{name}-service"
    for name in (
        *("auth", "order", "route", "train", "travel", "user", "station", "price", "seat", "config", "contacts"),
        *("basic", "security", "preserve", "cancel", "payment", "inside-payment", "execute", "notification", "food"),
        *("consign", "assurance", "verification-code", "ui-dashboard", "route-plan", "travel-plan", "travel2"),
        *("order-other", "admin-basic-info", "admin-order", "admin-route", "admin-travel", "admin-user", "rebook"),
        *("ticketinfo", "avatar", "news", "voucher", "delivery", "gateway"),
    )
)
ERRORS = {"OB": ("currencyservice", "frontend", "frontend-external", "productcatalogservice"), "SS": SS[:4]}
UNION = 429


def vocabulary(system: str, fault: str) -> list[str]:
    """Return the columns that a case may have, without ``time``."""
    if system == "OB" and fault in ("cpu", "mem", "disk"):
        called = [s for s in OB if s != "redis"]
        return [
            *(f"{s}_cpu" for s in OB),
            *(f"{s}_mem" for s in OB),
            *(f"{s}_load" for s in (*called, "frontend-external", "PassthroughCluster")),
            *(f"{s}_latency" for s in called),
            *(f"{s}_error" for s in (*ERRORS["OB"], "PassthroughCluster")),
        ]
    if system == "OB":
        called = [s for s in OB if s != "redis"]
        return [
            *(f"{s}_cpu" for s in (*OB, "main")),
            *(f"{s}_mem" for s in (*OB, "main")),
            *(f"{s}_workload" for s in (*called, "frontend-external")),
            *(f"{s}_error" for s in ERRORS["OB"][:2]),
            *(f"{s}_latency-{q}" for q in (50, 90) for s in called),
        ]
    if system == "SS":
        return [
            *(f"{s}_cpu" for s in SS_ALL),
            *(f"{s}_mem" for s in SS_ALL),
            *(f"{s}_workload" for s in SS),
            *(f"{s}_error" for s in ERRORS["SS"]),
            *(f"{s}_latency-{q}" for q in (50, 90) for s in SS),
            *(f"{s}_diskio" for s in SS_ALL),
        ]
    families = ("cpu", "mem", "latency-50", "latency-90", "workload", "error", "diskio")
    return [f"{s}_{m}" for m in families for s in TT][: UNION - _others()]


def _others() -> int:
    return len(
        {c for system, fault in (("OB", "cpu"), ("OB", "loss"), ("SS", "cpu")) for c in vocabulary(system, fault)}
    )


SIZES = {"OB cpu": (49, 49), "OB delay": (57, 57), "SS": (57, 63), "TT": (198, 238)}
"""Published numbers of metrics per case (README), fewest and most."""


def columns(system: str, service: str, fault: str, number: int) -> list[str]:
    """Return the columns of one case: all but some errors and disk metrics of idle services, which vary by
    ``number``."""
    names = vocabulary(system, fault)
    key = f"OB {'delay' if fault in ('delay', 'loss') else 'cpu'}" if system == "OB" else system
    low, high = SIZES[key]
    absent = max(0, len(names) - (low + number % (high - low + 1)))
    busy = (service, _front(system))
    idle = [n for n in names if n.endswith(("_error", "_diskio")) and n.rpartition("_")[0] not in busy]
    start = (number * 17) % max(len(idle), 1)
    left_out = set((idle[start:] + idle[:start])[:absent])
    return [n for n in names if n not in left_out]


def write(folder: Path, seed: int = 42) -> None:
    """Write RE1-OB, RE1-SS and RE1-TT, and a case each of RE2 and RE3, into ``folder``."""
    rng = np.random.default_rng(seed)
    number = 0
    for system, services in CASES.items():
        for service, repetitions in services.items():
            for fault in FAULTS:
                for repetition in range(1, repetitions + 1):
                    place = folder / f"RE1-{system}" / f"{service}_{fault}" / str(repetition)
                    write_case(place, system, service, fault, repetition, number, rng)
                    number += 1
    _write_others(folder)


def write_case(
    place: Path, system: str, service: str, fault: str, repetition: int, number: int, rng: np.random.Generator
) -> None:
    """Write one case: data.csv, inject_time.txt, and simple_data.csv in Sock Shop and Train Ticket."""
    place.mkdir(parents=True)
    case = (system, service, fault, repetition)
    rows, onset = _shape(case, rng)
    names = columns(system, service, fault, number)
    series = {n: behaviour(n, case, rows, onset, rng) for n in names}
    if case == LATE_METRIC:
        series[f"{service}_latency-90"][: onset + 40] = np.nan
    second = EPOCH + 5000 * number
    times: list[int | None] = list(range(second, second + rows))
    table = pl.DataFrame({"time": times, **series}).with_columns(pl.col(names).fill_nan(None))
    tail = 7 if case == EMPTY_TAIL else 0
    if tail:
        empty = pl.DataFrame({n: [None] * tail for n in table.columns}, schema=table.schema)
        table = pl.concat([table, empty])
    text = table.write_csv()
    if system == "OB" and fault in ("cpu", "mem", "disk") and repetition % 2:
        text = _second_time_column(text)
    (place / "data.csv").write_text(text, encoding="utf-8", newline="\n")
    (place / "inject_time.txt").write_text(f"{second + onset}\n", encoding="utf-8", newline="\n")
    if system != "OB":
        simple = table.select("time", f"{service}_cpu", f"{service}_mem")
        (place / "simple_data.csv").write_text(simple.write_csv(), encoding="utf-8", newline="\n")


def _second_time_column(text: str) -> str:
    lines = text.splitlines()
    return "".join(f"{line},{line.split(',', 1)[0]}\n" for line in lines)


def _shape(case: tuple[str, str, str, int], rng: np.random.Generator) -> tuple[int, int]:
    """Return the number of rows, and the row of the injection: in the middle, but never at a multiple of a window."""
    if case == LONG_CASE:
        return 4201, 2101
    if case == SHORT_AFTER:
        return 560, 390
    if case[0] == "OB" and case[2] in ("delay", "loss"):
        return 720, 360
    long = case[0] == "OB"
    rows = int(rng.integers(1060, 1120)) if long else int(rng.integers(540, 600))
    return rows, rows // 2 + int(rng.integers(-9, 10))


def _front(system: str) -> str:
    return {"OB": "frontend", "SS": "front-end", "TT": "ts-ui-dashboard-service"}[system]


LEVELS = {"cpu": 0.3, "mem": 1.2, "load": 2.0, "workload": 2.0, "latency": 0.4, "error": 0.0, "diskio": 0.0}


def behaviour(
    name: str, case: tuple[str, str, str, int], rows: int, onset: int, rng: np.random.Generator
) -> np.ndarray:
    """Return one metric: its own level and waves, and from the onset on the shape of the fault; three decimals. Idle
    services are constant. The faulty service shows the fault in its own metrics, the front end of the system in its
    load and latency.
    """
    system, faulty, fault, _ = case
    service, _, metric = name.rpartition("_")
    kind = metric.partition("-")[0]
    t = np.arange(rows)
    level = LEVELS[kind] * (1.5 if metric.endswith("-90") else 1)
    if service in (faulty, _front(system)):
        base = level * (1 + 0.1 * np.sin(2 * np.pi * t / rng.integers(60, 400) + rng.uniform(0, 6)))
        values = base + rng.normal(0, 0.05, rows)
        since = (t[onset:] - onset) / 256
        size = rng.uniform(0.75, 1.25)
        values[onset:] += size * _fault_shape(fault, kind, service == faulty, since, rng)
        values = np.maximum(values, 0)
        if fault == "loss" and kind == "latency" and service == faulty:
            values[onset + 5 : onset + 8] = np.inf
    elif rng.random() < 0.7:
        values = np.full(rows, level)
    else:
        values = np.repeat(level * rng.uniform(0.97, 1.03, rows // 15 + 1), 15)[:rows]
    return np.round(values, 3)


def _fault_shape(fault: str, kind: str, own: bool, since: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return what a fault adds to a metric, by windows since the onset. The front end shows the effect on the
    system."""
    rise = np.minimum(since * 4, 1)
    wave = np.sin(2 * np.pi * since * rng.uniform(5, 7))
    burst = rise * (since * 20 % 1 < 0.5)
    shapes = {
        ("cpu", "cpu"): 0.6 * rise * (1 + 0.2 * wave),
        ("cpu", "latency"): 0.5 * rise,
        ("mem", "mem"): 0.5 * since,
        ("mem", "latency"): 0.3 * since,
        ("disk", "diskio"): 0.6 * burst,
        ("disk", "error"): 0.7 * burst,
        ("delay", "latency"): 0.8 * rise,
        ("delay", "load"): -0.7 * rise,
        ("delay", "workload"): -0.7 * rise,
        ("loss", "latency"): 0.4 * rise * (1 + wave),
        ("loss", "error"): 0.9 * rise,
        ("loss", "load"): -0.6 * rise * (1 + wave),
        ("loss", "workload"): -0.6 * rise * (1 + wave),
    }
    shape: np.ndarray = shapes.get((fault, kind), 0 * since)
    return shape * (0.5 if own else 1.2)


def _write_others(folder: Path) -> None:
    """Write a case of RE2 with a fault that RE1 does not have, and the folder of RE3 with a wrong fault code."""
    for place in ("RE2-OB/emailservice_socket/1", "RE3-TT/ts-route-service_f6/1"):
        (folder / place).mkdir(parents=True)
        (folder / place / "simple_metrics.csv").write_text("time,emailservice_socket\n1,2.0\n2,2.0\n")
        (folder / place / "metrics.csv").write_text("time,emailservice_socket,node_x\n1,2.0,0\n2,2.0,0\n")
        (folder / place / "inject_time.txt").write_text("2\n")
