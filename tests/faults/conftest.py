"""Each test of a promise records how often it was tried and how often it was broken; the table is printed at the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PROMISES: dict[tuple[str, str], list[int]] = {}

Promise = Callable[[str, str, int, list[str]], None]


@pytest.fixture
def promise() -> Promise:
    """Records a promise, how it was attacked, the number of tries, and what went wrong; fails if anything did."""

    def record(words: str, attack: str, tries: int, broken: list[str]) -> None:
        counts = PROMISES.setdefault((words, attack), [0, 0])
        counts[0] += tries
        counts[1] += len(broken)
        assert tries
        assert not broken, f"{words}: broken {len(broken)} of {tries} times by {attack}: " + "; ".join(broken[:10])

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of promises."""
    if not PROMISES:
        return
    terminalreporter.write_line("\n| promise | attacked by | tries | broken |\n| --- | --- | --- | --- |")
    for (words, attack), (tries, broken) in sorted(PROMISES.items()):
        terminalreporter.write_line(f"| {words} | {attack} | {tries:,} | {broken:,} |")
