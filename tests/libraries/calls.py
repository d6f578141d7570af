"""Calls of other libraries with a frame, from ``calls.txt``, and what they answer with frames of several libraries.

``python -m tests.libraries.calls`` prints how many calls of each family answer as they do with pandas, for Polars and for SFrame.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import io
import json
import random
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

_CALLS = Path(__file__).with_name("calls.txt")
_ROWS = 60
# Narwhals writes date-times of Arrow data with their microseconds.
_ZERO_MICROSECONDS = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.0+$")
# Altair names data by a hash of their text.
_HASH_OF_DATA = re.compile(r"^data-[0-9a-f]{32}$")
KINDS = ("pandas", "polars", "sframe_spark")


@attrs.frozen
class Call:
    """A call in Python, with ``df`` for the frame, and why its answer with SFrame is another than with pandas; None if it is the same."""

    code: str
    difference: str | None


@attrs.frozen
class Library:
    """The calls of a library of a family, and its imports."""

    family: str
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
    family, name, imports, calls, difference = "", "", "", [], None
    for line in [*_CALLS.read_text(encoding="utf-8").splitlines(), "=="]:
        if line.startswith("="):
            if name:
                found.append(Library(family, name, imports, tuple(calls)))
            if line.startswith("=="):
                name, imports, calls = line[2:].strip(), "", []
            else:
                family, name = line[1:].strip(), ""
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

    # An SFrame of a dict has its columns in the order of their names.
    return SFrame(columns)[list(columns)]


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
    """Return values, arrays, frames and pictures as lists, dicts, texts and numbers of six digits; text for any other object.

    A missing value is None, and NaN too: that is what a frame of pandas makes of it.
    """
    module = type(value).__module__.partition(".")[0]
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if value is None or (isinstance(value, (float, datetime.datetime)) and value != value):
        return None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        # A frame of pandas has floats where an int is missing.
        return int(value) if value == value // 1 and abs(value) < 2**53 else f"{value:.6g}"
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()[:19]
    if isinstance(value, str):
        return _HASH_OF_DATA.sub("data", _ZERO_MICROSECONDS.sub(r"\1", value))
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    for own in (_of_array, _of_frame, _of_picture):
        found = own(value, module)
        if found is not None:
            return found
    return "an object"


def _of_array(value: Any, module: str) -> Any:
    if module == "numpy" and getattr(value, "dtype", None) is not None and value.dtype.kind == "M":
        return [None if one != one else str(one)[:19] for one in value.ravel()]
    if module in ("numpy", "torch", "zarr") and hasattr(value, "tolist"):
        return _plain(value.tolist())
    if module == "scipy" and hasattr(value, "toarray"):
        return _plain(value.toarray())
    return None


def _of_frame(value: Any, module: str) -> Any:
    """Return the rows of a frame, or the values of a column, of any library: where pandas gives a frame, others may give an array."""
    if module == "pandas" and hasattr(value, "columns"):
        return _plain(list(zip(*(value.iloc[:, index] for index in range(value.shape[1])), strict=True)))
    if module == "polars" and hasattr(value, "rows"):
        return _plain(value.rows())
    if module == "pyarrow" and hasattr(value, "to_pydict"):
        return _plain(list(zip(*(column.to_pylist() for column in value.columns), strict=True)))
    if module == "sframe_spark":
        columns = [value[name] for name in value.column_names()] if hasattr(value, "column_names") else None
        return _plain(list(value) if columns is None else list(zip(*columns, strict=True)))
    if module in ("pandas", "polars", "pyarrow") and hasattr(value, "__len__") and hasattr(value, "__iter__"):
        return _plain(list(value))
    return None


def _of_picture(value: Any, module: str) -> Any:
    """Return what is drawn: the data of lines, bars and points of matplotlib, the figures of plotly and the charts of Altair."""
    if module == "plotly" and hasattr(value, "to_plotly_json"):
        return _plain(json.loads(value.to_json())["data"])
    if module in ("seaborn", "matplotlib", "plotnine", "mpl_toolkits"):
        pyplot = sys.modules["matplotlib.pyplot"]
        drawn = [artist for number in pyplot.get_fignums() for axes in pyplot.figure(number).axes for artist in axes.get_children()]
        return [found for artist in drawn if (found := _drawn(artist)) is not None]
    return None


def _drawn(artist: Any) -> Any:
    kinds = {kind.__name__ for kind in type(artist).__mro__}
    if "Line2D" in kinds:
        return ["line", _plain(artist.get_xydata())]
    if "Rectangle" in kinds:
        return ["bar", _plain(artist.get_bbox().bounds)]
    if "PathCollection" in kinds:
        # Points that are spread at random have other places in each picture.
        return ["points", len(artist.get_offsets())]
    return None


def table() -> str:
    """Return for each family how many calls there are, and how many answer with each kind of frame as with pandas."""
    counts: dict[str, list[int]] = {}
    names: dict[str, list[str]] = {}
    for library in libraries():
        if not library.is_installed:
            continue
        found = {kind: [answer for _, answer in answers(library, kind)] for kind in KINDS}
        same = [
            sum(not isinstance(one, Exception) and one == other for one, other in zip(found[kind], found["pandas"], strict=True)) for kind in KINDS
        ]
        before = counts.setdefault(library.family, [0] * (1 + len(KINDS)))
        counts[library.family] = [total + count for total, count in zip(before, [len(library.calls), *same], strict=True)]
        names.setdefault(library.family, []).append(library.name)
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    lines = ["| family | calls | pandas | Polars | SFrame | libraries |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    lines += [f"| {family} | {' | '.join(map(str, numbers))} | {', '.join(names.get(family, []))} |" for family, numbers in counts.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
