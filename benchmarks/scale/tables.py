"""The tables of the page on scale, made of what was measured and simulated: nothing is measured here."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.scale import simulated_driver
from benchmarks.scale.fitted import Fit, fit
from benchmarks.scale.measured_runs import load
from benchmarks.scale.model import Cost, cost
from benchmarks.scale.programs import PROGRAMS, Way
from benchmarks.scale.shapes import LARGE, LARGE_CORES

MACHINES, MACHINE_BYTES = 100, 10**9
LIMITS = {
    "filter + materialise": "writing",
    "derived column": "rows of a task; opening files",
    "cumulative sum": "two passes",
    "rolling mean": "the kernel",
    "as-of join": "writing; the driver's work",
    "join, small side": "writing",
    "save": "writing",
    "group-by, 100 groups": "reading; parts of all tasks come to the driver",
    "group-by, many groups": "the exchange",
    "unique": "the exchange",
    "join, large sides": "the exchange",
    "sort": "the exchange",
}


def row(*cells: object) -> str:
    """A line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*cells: str) -> Iterator[str]:
    """The first lines of a table, numbers to the right."""
    yield row(*cells)
    yield row("---", *("---:" for _ in cells[1:]))


def large_table(found: Fit, simulated: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Each operator at the size that the page is about."""
    drivers = {run["program"]: run for run in simulated}
    sizes = "TB read", "TB written", "TB exchanged"
    yield from head("operator", "passes", "tasks", "partitions", *sizes, "hours, cores", "hours, disks", "driver, MiB", "limited by")
    for program in (program for program in PROGRAMS if program.way is not Way.DRIVER):
        of = cost(program, LARGE, LARGE_CORES)
        shown = (f"{size / 1e12:.2f}" if size else "0" for size in (of.read, of.written, of.exchanged))
        hours = found.seconds(program.name, LARGE, LARGE_CORES) / 3_600
        driver = drivers.get(program.name, {}).get("peak_mib", "")
        yield row(
            program.name,
            of.passes,
            f"{of.tasks:,}",
            f"{of.partitions:,}",
            *shown,
            f"{hours:.2g}",
            f"{hours_of_disks(of):.2g}",
            driver,
            LIMITS[program.name],
        )


def hours_of_disks(of: Cost) -> float:
    """Hours in which disks and network of all machines pass on what is read, written, and exchanged, which is written and read."""
    return (of.read + of.written + 2 * of.exchanged) / (MACHINES * MACHINE_BYTES) / 3_600


def driver_table(simulated: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What the simulated driver took."""
    yield from head("action", "seconds", "peak, MiB", "tasks", "MB sent", "footers read")
    for run in simulated:
        works, sent = (sum(job[key] for job in run["jobs"]) for key in ("works", "own_bytes"))
        yield row(run["program"], f"{run['seconds']:.2f}", run["peak_mib"], f"{works:,}", f"{sent / 1e6:.0f}", run["footers"])


def constants_table(found: Fit) -> Iterator[str]:
    """The fitted constants."""
    yield from head("seconds for", "fitted")
    for name, value in found.constants.items():
        yield row(name, f"{value:.3g}")


def residuals_table(found: Fit) -> Iterator[str]:
    """How well the model tells the runs, by operator."""
    yield from head("operator", "runs", "lowest modelled / measured", "median", "highest")
    for program in PROGRAMS:
        ratios = [ratio for run, ratio in zip(found.runs, found.residuals, strict=True) if run["program"] == program.name]
        if ratios:
            shown = (f"{of(ratios):.2f}" for of in (min, statistics.median, max))
            yield row(program.name, len(ratios), *shown)


def all_tables() -> str:
    """All of them."""
    found, simulated = fit(load()), json.loads(simulated_driver.RESULTS.read_text(encoding="utf-8"))
    tables = (large_table(found, simulated["runs"]), driver_table(simulated["runs"]), constants_table(found), residuals_table(found))
    return "\n\n".join("\n".join(table) for table in tables) + f"\n\nmanifest: {simulated['manifest']}"
