"""Results of the same programs in several libraries: found by a process for each, compared, and printed side by side."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

PEERS = ("ours", "with_polars", "with_duckdb", "with_pyspark")
# Its interpreter is not ours, and is named on the command line.
REFERENCE = "with_reference"
TOLERANCE = 1e-6
# Seconds below which nobody waits, and which are counted as so many.
LEAST = 0.01
# Bytes that a process has in use before each peer.
MEMORY_IN_USE = 1 << 30
# Results of each peer by the names of programs.
Found = dict[str, dict[str, Any]]


def parser_of(text: str, *more: str) -> argparse.ArgumentParser:
    """What the command line may say of any such benchmark; ``more`` are peers that only this one has."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--peers", type=lambda text: text.split(","), default=[*PEERS, *more])
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("--runs", type=int, default=2, help="runs of each program after the first")
    parser.add_argument("--json", type=Path)
    return parser


def measured(package: str, peers: list[str], directory: Path, runs: int, names: list[str], reference: Path | None = None) -> Found:
    """Results of the modules of a package, each in a process of its own; ``reference``: the interpreter of one that has another."""
    work = [str(directory), str(runs), *names]
    commands = {peer: [sys.executable, "-m", "benchmarks.peers.worker", f"{package}.{peer}", *work] for peer in peers}
    if reference:
        commands[REFERENCE] = [str(reference), "-m", f"{package}.{REFERENCE}", *work]
    return {peer: _measured(command) for peer, command in commands.items()}


def _measured(command: list[str]) -> dict[str, Any]:
    # A virtual machine gives free memory back to its host, and takes milliseconds for each 2 MiB of it that is touched then: who comes first would
    # pay for all. So memory was in use a moment ago, whoever comes.
    subprocess.run([sys.executable, "-c", f"b'x' * {MEMORY_IN_USE}"], check=True)
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "SFRAME_SPARK_PROGRESS": "off"}).stdout
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {line["name"]: line for line in lines}


def is_same(one: Any, other: Any) -> bool:
    """True for equal results; numbers with fractions may differ by how they were added up, and with them the order of rows that nearly tie."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and (all(map(is_same, one, other)) or is_same_but_for_near_ties(one, other))
    if {type(one), type(other)} <= {float, int}:
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def is_same_but_for_near_ties(one: list[Any], other: list[Any]) -> bool:
    """True for the same rows in the same order, but for rows one after the other whose numbers with fractions nearly tie.

    Sums of floats of libraries that add up in threads vary from run to run, and with them the order of groups by such a sum.

    Examples
    --------
    >>> is_same_but_for_near_ties([["a", 2.0], ["b", 1.0]], [["b", 1.0 - 1e-15], ["a", 2.0]])
    False
    >>> is_same_but_for_near_ties([["a", 1.0], ["b", 1.0]], [["b", 1.0 - 1e-15], ["a", 1.0]])
    True
    """
    start = 0
    for stop in range(1, len(one) + 1):
        if stop < len(one) and nearly_tie(one[stop - 1], one[stop]):
            continue
        left = other[start:stop]
        for row in one[start:stop]:
            place = next((place for place, found in enumerate(left) if is_same(row, found)), None)
            if place is None:
                return False
            del left[place]
        start = stop
    return True


def nearly_tie(row: Any, following: Any) -> bool:
    """Whether two rows have a number with a fraction that may be the same in another sum."""
    if not (isinstance(row, list) and isinstance(following, list)):
        return False
    pairs = [(a, b) for a, b in zip(row, following, strict=False) if isinstance(a, float) and isinstance(b, float)]
    return any(math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in pairs)


def compare(found: Found, truth: str) -> None:
    """Refuse to go on where a peer gives something else than another one that is taken for true.

    Raises
    ------
    SystemExit
        If one does.
    """
    for peer, results in found.items():
        different = [name for name in results if truth in found and not is_same(results[name]["found"], found[truth][name]["found"])]
        if different:
            raise SystemExit(f"{peer} gives something else than {truth}: {', '.join(different)}")


def report(found: Found, names: list[str], chosen: argparse.Namespace, truth: str, title: str, size: dict[str, float]) -> None:
    """Compare results, print the table, and write both with what says how much there was, where that is asked for."""
    compare(found, truth)
    print(f"{title}; seconds, and in brackets those of the processors, best of {chosen.runs} runs after a first one\n")
    print_table(found, names)
    if chosen.json:
        chosen.json.write_text(json.dumps({**size, "found": {peer: without_results(results) for peer, results in found.items()}}, indent=1))


def without_results(results: dict[str, Any]) -> dict[str, Any]:
    """Seconds alone: results were compared, and the memory of a peer's first process says nothing of a JVM's."""
    return {name: {key: value for key, value in each.items() if key not in ("found", "peak")} for name, each in results.items()}


def print_table(found: Found, names: list[str]) -> None:
    """Seconds of each program, and our time by that of each peer."""
    print("| program | " + " | ".join(peer.removeprefix("with_") for peer in found) + " |")
    print("| --- |" + " ---: |" * len(found))
    print("\n".join(line_of(name, found) for name in names))
    for peer in found:
        if peer != "ours" and "ours" in found:
            print(f"\nours by {peer.removeprefix('with_')}: {told(found, peer, 'wall', 'cpu')}")
            print(f"first runs: {told(found, peer, 'first wall', 'first cpu')}")


def told(found: Found, peer: str, wall: str, cpu: str) -> str:
    """Our times by those of a peer: the means, and the worst of the processors'."""
    ratios = {name: ratio(found, peer, name, cpu) for name in in_both(found, peer, cpu)}
    worst = max(ratios, key=lambda name: ratios[name])
    means = f"{mean_ratio(found, peer, wall):.2f} wall, {mean_ratio(found, peer, cpu):.2f} processors"
    return f"{means}, at most {ratios[worst]:.1f} ({worst.replace('_', ' ')})"


def line_of(name: str, found: Found) -> str:
    """A line of the table: seconds, and those of the processors behind them."""
    cells = [f"{each['wall']:.2f} ({each['cpu']:.2f})" if (each := results.get(name)) else "" for results in found.values()]
    return f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |"


def mean_ratio(found: Found, peer: str, what: str) -> float:
    """Our time by that of a peer, in the geometric mean over the programs that both have."""
    return statistics.geometric_mean(ratio(found, peer, name, what) for name in in_both(found, peer, what))


def in_both(found: Found, peer: str, what: str) -> list[str]:
    """Programs whose seconds are known of us and of a peer: a process that has ended takes its own with it, and less than nothing is left."""
    return [name for name in found["ours"] if name in found[peer] and min(seconds_of(found[who][name], what) for who in ("ours", peer)) > 0]


def ratio(found: Found, peer: str, name: str, what: str) -> float:
    """Our time for a program by that of a peer; no time is below a hundredth of a second."""
    return max(seconds_of(found["ours"][name], what), LEAST) / max(seconds_of(found[peer][name], what), LEAST)


def seconds_of(result: dict[str, Any], what: str) -> float:
    """Seconds of a program: on the clock or of the processors, the best or those of its first run."""
    wall, cpu = result["cold"]
    return float({"first wall": wall, "first cpu": cpu}.get(what, result.get(what, 0.0)))
