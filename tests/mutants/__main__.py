"""Whether the suite notices seeded faults: each is put into a copy of the package, and the tests that run its line are run.

``python -m tests.mutants check`` says which faults are found no longer, or in two places, as code has changed.
``python -m tests.mutants collect`` runs the suite once and notes which test functions run the line of each fault.
``python -m tests.mutants run [--ids ID ...] [--tests PATH ...] [--all] --results FILE`` makes and runs the mutants.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.mutants.faults import FAULTS, Fault
from tests.mutants.reached import DIRECTORY, noted, with_recorders

ROOT = Path(__file__).parents[2]
PACKAGE = "sframe_spark"
SELECTION = "not spark and not cluster and not campaign"
SECONDS_OF_A_MUTANT = 900
# A run that takes so many times as long as without the fault, and so many seconds more, hangs.
TIMES_SLOWER, SECONDS_TO_START = 20, 120
# So many test functions run in one process, the quickest ones first: most faults are noticed by the first ones.
FUNCTIONS_AT_ONCE = 60
BUILD = Path(tempfile.gettempdir()) / "sframe_spark_mutants"


def sources() -> dict[Path, str]:
    """Return the text of each module of the package, by its path from the root."""
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


def location_of(fault: Fault, texts: dict[Path, str]) -> tuple[Path, int, int]:
    """Return the file of a fault, its first and its last line.

    Raises
    ------
    LookupError
        If the text of the fault does not occur exactly once.
    """
    found = [(path, text) for path, text in texts.items() if fault.old in text]
    if len(found) != 1 or found[0][1].count(fault.old) != 1:
        raise LookupError(
            f"{fault.id}: {fault.old!r} occurs {sum(text.count(fault.old) for _, text in found)} times, in {[str(path) for path, _ in found]}"
        )
    path, text = found[0]
    first = text[: text.index(fault.old)].count("\n") + 1
    return path, first, first + fault.old.count("\n")


def unusable(faults: Iterable[Fault]) -> list[str]:
    """Return why faults cannot be seeded, for those that cannot."""
    texts, reasons = sources(), []
    for fault in faults:
        try:
            path = location_of(fault, texts)[0]
            compile(texts[path].replace(fault.old, fault.new), str(path), "exec")
        except (LookupError, SyntaxError) as error:
            reasons.append(f"{type(error).__name__}: {error}")
    return reasons


def environment(tree: Path, **more: str) -> dict[str, str]:
    """Return the environment of a run whose package is that of `tree`, and whose temporary data are its own."""
    temporary = BUILD / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "PYTHONPATH": str(tree),
        "TMPDIR": str(temporary),
        "SFRAME_SPARK_TMP": str(temporary),
        "PYTHONDONTWRITEBYTECODE": "",
        **more,
    }


def collect(reached: Path, durations: Path, tests: Sequence[str]) -> int:
    """Run the suite once on a copy of the package that records which tests run the line of each fault, and how long each test takes."""
    texts = sources()
    by_file: dict[Path, list[tuple[str, int, int]]] = {}
    for fault in FAULTS:
        path, first, last = location_of(fault, texts)
        by_file.setdefault(path, []).append((fault.id, first, last))
    shutil.rmtree(reached, ignore_errors=True)
    reached.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal", "-m", SELECTION]
    with copied_tree() as tree:
        for path, lines in by_file.items():
            (tree / path).write_text(with_recorders(texts[path], lines), encoding="utf-8")
        environ = environment(tree, **{DIRECTORY: str(reached)})
        return subprocess.run([*command, f"--junitxml={durations}", *tests], cwd=tree, env=environ, check=False).returncode


def seconds_of_functions(durations: Path) -> dict[str, float]:
    """Return the seconds that each test function takes, all its parameters together."""
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(durations).iter("testcase"):
        module = case.attrib["classname"]
        name = case.attrib["name"].partition("[")[0]
        seconds[f"{module}.{name}"] = seconds.get(f"{module}.{name}", 0.0) + float(case.attrib["time"])
    return seconds


def key_of(function: str) -> str:
    """Return the name in a JUnit file of a test function given as pytest names it."""
    path, _, rest = function.partition("::")
    return ".".join([path.removesuffix(".py").replace("/", "."), *rest.split("::")])


def run_tests(tree: Path, tests: Sequence[str], seconds: float, stop_at_first: bool) -> tuple[str, list[str]]:
    """Return what became of a run of some tests, "passed", "failed" or "hung", and those that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", SELECTION, "--tb=no", "-rfE", "--continue-on-collection-errors"]
    command += ["-x"] if stop_at_first else []
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*command, *tests], cwd=tree, env=environment(tree), stdout=output, stderr=output, start_new_session=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "hung", []
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    failed = [line.split(" ", 1)[1].split(" - ")[0] for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    # 5: no test was selected.
    return ("passed" if code in (0, 5) else "failed"), failed or ([text[-400:]] if code not in (0, 5) else [])


@contextlib.contextmanager
def copied_tree() -> Iterator[Path]:
    """Provide a copy of the project, which is deleted afterwards."""
    BUILD.mkdir(parents=True, exist_ok=True)
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    with tempfile.TemporaryDirectory(prefix="tree-", dir=BUILD) as directory:
        tree = Path(directory)
        for name in kept:
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        yield tree


def batches(functions: Sequence[str], seconds: dict[str, float]) -> Iterator[list[str]]:
    """Yield test functions to be run in one process each, the quickest first: of one of each file first, then the others."""
    ordered = sorted(functions, key=lambda function: seconds.get(key_of(function), 1.0))
    seen: set[str] = set()
    first = [function for function in ordered if (path := function.partition("::")[0]) not in seen and not seen.add(path)]
    chosen = set(first)
    queue = [*first, *(function for function in ordered if function not in chosen)]
    for start in range(0, len(queue), FUNCTIONS_AT_ONCE):
        yield queue[start : start + FUNCTIONS_AT_ONCE]


def run_mutant(fault: Fault, tree: Path, functions: Sequence[str], seconds: dict[str, float], everything: bool) -> dict[str, Any]:
    """Seed one fault, run tests until one notices it, or all of them, and take the fault out again."""
    texts = sources()
    path, *_ = location_of(fault, texts)
    began, killers, outcome = time.monotonic(), [], "survived"
    (tree / path).write_text(texts[path].replace(fault.old, fault.new), encoding="utf-8")
    try:
        for batch in batches(functions, seconds):
            if time.monotonic() - began > SECONDS_OF_A_MUTANT:
                outcome = outcome if killers else "out of time"
                break
            usual = sum(seconds.get(key_of(function), 1.0) for function in batch)
            became, failed = run_tests(tree, batch, TIMES_SLOWER * usual + SECONDS_TO_START, not everything)
            if became == "passed":
                continue
            killers += failed or [became]
            outcome = "killed"
            if not everything:
                break
    finally:
        (tree / path).write_text(texts[path], encoding="utf-8")
    return {
        "room": fault.room,
        "file": str(path),
        "outcome": outcome,
        "by": killers,
        "covering": len(functions),
        "seconds": round(time.monotonic() - began, 1),
    }


def run(faults: Sequence[Fault], results: Path, tests: Sequence[str], reached: Path, durations: Path, everything: bool) -> int:
    """Run mutants, writing what became of each as soon as it is known; return how many survived."""
    functions_of = {} if tests else noted(reached)
    seconds = seconds_of_functions(durations) if durations.exists() else {}
    known: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    with copied_tree() as tree:
        for fault in faults:
            if fault.spark or fault.id in known:
                continue
            functions = tests or functions_of.get(fault.id, [])
            known[fault.id] = run_mutant(fault, tree, functions, seconds, everything)
            results.write_text(json.dumps(known, indent=1))
            print(
                f"{fault.id}: {known[fault.id]['outcome']} by {known[fault.id]['by'][:1]} of {len(functions)} in {known[fault.id]['seconds']} s",
                flush=True,
            )
    survived = [name for name, found in known.items() if found["outcome"] != "killed"]
    print(f"{len(known) - len(survived)} of {len(known)} killed; not killed: {', '.join(survived) or 'none'}")
    return len(survived)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "collect", "run"])
    parser.add_argument("--ids", nargs="*", help="only these faults")
    parser.add_argument("--tests", nargs="*", default=[], help="run these tests instead of those that run the fault's line")
    parser.add_argument("--all", action="store_true", help="go on after the first test that notices")
    parser.add_argument("--results", type=Path, default=BUILD / "results.json")
    parser.add_argument("--reached", type=Path, default=BUILD / "reached", help="what collect notes")
    parser.add_argument("--durations", type=Path, default=BUILD / "durations.xml")
    chosen = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    faults = [fault for fault in FAULTS if chosen.ids is None or fault.id in chosen.ids]
    if chosen.command == "check":
        print("\n".join(reasons := unusable(faults)) or f"all {len(faults)} faults can be seeded")
        return int(bool(reasons))
    if chosen.command == "collect":
        return collect(chosen.reached, chosen.durations, chosen.tests or [PACKAGE, "tests"])
    run(faults, chosen.results, chosen.tests, chosen.reached, chosen.durations, chosen.all)
    return 0


if __name__ == "__main__":
    sys.exit(main())
