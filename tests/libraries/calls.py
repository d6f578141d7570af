"""Calls of other libraries with a frame, from ``calls.txt``, and what they answer with frames of several libraries.

``python -m tests.libraries.calls`` prints how many calls of each library answer as they do with pandas, for Polars and for SFrame.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import io
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

_CALLS = Path(__file__).with_name("calls.txt")
_ROWS = 60
KINDS = ("pandas", "polars", "sframe_spark")


@attrs.frozen
class Call:
    """A call in Python, with ``df`` for the frame, and why its answer with SFrame is another than with pandas; None if it is the same."""

    code: str
    difference: str | None


@attrs.frozen
class Library:
    """The calls of a library, and its imports."""

    name: str
    imports: str
    calls: tuple[Call, ...]

    @property
    def is_installed(self) -> bool:
        modules = [line.split()[1].partition(".")[0] for line in self.imports.splitlines() if line.startswith(("import", "from"))]
        return all(importlib.util.find_spec(module) is not None for module in modules)


def libraries() -> list[Library]:
    """Return the libraries of ``calls.txt``."""
    found: list[Library] = []
    name, imports, calls, difference = "", "", [], None
    for line in [*_CALLS.read_text(encoding="utf-8").splitlines(), "=="]:
        if line.startswith("=="):
            if name:
                found.append(Library(name, imports, tuple(calls)))
            name, imports, calls = line[2:].strip(), "", []
        elif line.startswith(">"):
            imports += line[1:].strip() + "\n"
        elif line.startswith("!"):
            difference = line[1:].strip()
        elif line and not line.startswith("#"):
            calls.append(Call(line, difference))
            difference = None
    return found


def frame(kind: str) -> Any:
    """Return the frame of the calls as one of pandas, Polars or SFrame."""
    draw = random.Random(0)
    columns: dict[str, list[Any]] = {
        "x": [draw.gauss(0, 1) for _ in range(_ROWS)],
        "y": [draw.gauss(0, 1) for _ in range(_ROWS)],
        "n": list(range(1, _ROWS + 1)),
        "g": ["a", "b", "c"] * (_ROWS // 3),
        "b": [number * 7 % 5 % 2 for number in range(_ROWS)],
        "p": [draw.random() for _ in range(_ROWS)],
        "d": [1 + 10 * draw.random() for _ in range(_ROWS)],
        "w": ["red fox", "blue cat dog", "red"] * (_ROWS // 3),
        "t": [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=number) for number in range(_ROWS)],
    }
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if kind == "polars":
        import polars

        return polars.DataFrame(columns)
    from sframe_spark import SFrame

    return SFrame(columns)


def answers(library: Library, kind: str) -> Iterator[tuple[Call, Any]]:
    """Yield for each call its answer in plain values, or the error that it raised. What the libraries print and warn of is left out."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        names: dict[str, Any] = {}
        exec("import numpy as np\nimport pandas as pd\n" + library.imports, names)
        for call in library.calls:
            names["df"] = frame(kind)
            try:
                yield call, _plain(eval(call.code, names))
            except Exception as error:
                yield call, error
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")


def _plain(value: Any) -> Any:
    """Return values of NumPy as Python's, floats with nine digits, and text for any other object: two of a kind are the same answer."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (int, str)) else "an object"


def table() -> str:
    """Return for each library how many calls there are, and how many answer with each kind of frame as with pandas."""
    totals = [0] * (1 + len(KINDS))
    lines = ["| library | calls | pandas | Polars | SFrame |", "| --- | ---: | ---: | ---: | ---: |"]
    for library in libraries():
        if not library.is_installed:
            continue
        found = {kind: [answer for _, answer in answers(library, kind)] for kind in KINDS}
        counts = [len(library.calls)]
        for kind in KINDS:
            counts.append(sum(not isinstance(one, Exception) and one == other for one, other in zip(found[kind], found["pandas"], strict=True)))
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        lines.append(f"| {library.name} | {' | '.join(map(str, counts))} |")
    return "\n".join([*lines, f"| all | {' | '.join(map(str, totals))} |"])


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
