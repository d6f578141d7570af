"""Writes random programs line by line: what values they have, and what the model says can be done next."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

from tests.model.columns import Column
from tests.model.doors import doors_of
from tests.model.frames import Frame
from tests.model.run import model_names, run_in_model
from tests.model.values import CLASSES, KINDS, Refused

NAMES = ("a", "b", "c", "d", "x y", "é,\"'", "Ж", "_key", "c0")
TEXTS = (
    "",
    "a",
    "b",
    "ab",
    "A",
    "é",
    "e\u0301",
    "日本",
    "😀",
    "a,b",
    '"q"',
    "it's",
    "x\ny",
    "\t",
    " lead",
    "\\",
    "\u2028",
    "\x00",
    "1",
    "nan",
    "<b>",
)
FLOATS = (0.5, -1.5, 2.25, 3.0, -0.0, 0.0, 1e300, float("inf"), float("-inf"), float("nan"), 5.0)
DATES = (
    datetime.datetime(2020, 2, 29, 12, 30), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(1, 1, 1),
    datetime.datetime(9999, 12, 31, 23, 59, 59), datetime.datetime(2021, 3, 28, 2, 30),
)  # fmt: skip
ZONES = (datetime.UTC, datetime.timezone(datetime.timedelta(hours=5, minutes=45)), datetime.timezone(-datetime.timedelta(hours=3)))
LISTS = ([], [1, 2], ["a", None], [1.5, [2, "x"]], [{}, None], ["é", "b"])
DICTS = ({}, {"k": 1}, {1: "x", "y": None}, {"a": ["p", 2.5], "b": {"c": "d"}})
ROW_COUNTS = (0, 1, 2, 3, 4, 5, 6, 8, 11, 13)
Step = Callable[["Writer"], str]


class Writer:
    """Writes a program line by line; the model runs along, so that it knows what can be done next."""

    def __init__(self, random_numbers: random.Random, on_spark: bool = False) -> None:
        self.random = random_numbers
        self.on_spark = on_spark
        self.names = model_names()
        self.lines: list[str] = []
        self.handles: dict[str, Any] = {}
        self.iterators: list[str] = []
        self.made = 0

    def new(self) -> str:
        self.made += 1
        return f"h{self.made}"

    def write(self, line: str) -> bool:
        """Run a line in the model and keep it; False where the model refuses it."""
        before = {name: model.copy() for name, model in self.handles.items() if isinstance(model, Frame)}
        try:
            run_in_model(line, self.names)
        except Refused:
            for name, frame in before.items():
                self.handles[name].filled(frame.columns)
            return False
        self.lines.append(line)
        name = line.split(" = ", maxsplit=1)[0]
        if name.isidentifier() and isinstance(self.names.get(name), (Frame, Column)):
            self.handles[name] = self.names[name]
        return True

    def choice(self, items: Any) -> Any:
        """One of some items.

        Raises
        ------
        Refused
            If there are none.
        """
        if not items:
            raise Refused("nothing to choose from")
        return self.random.choice(list(items))

    def frame(self, width: int = 1) -> str:
        return str(self.choice([name for name, model in self.handles.items() if isinstance(model, Frame) and len(model.names) >= width]))

    def column(self, kinds: tuple[str, ...] = KINDS, rows: int | None = None) -> str:
        found = [name for name, model in self.handles.items() if isinstance(model, Column) and model.kind in kinds]
        return str(self.choice([name for name in found if rows is None or len(self.handles[name]) == rows]))

    def column_name(self, frame: str, kinds: tuple[str, ...] = KINDS) -> str:
        return str(self.choice([name for name, column in self.handles[frame].columns.items() if column.kind in kinds]))

    def new_name(self, frame: str) -> str:
        return str(self.choice([name for name in NAMES if name not in self.handles[frame].names]))

    def some_names(self, frame: str, kinds: tuple[str, ...] = KINDS, most: int = 3) -> list[str]:
        names = [name for name, column in self.handles[frame].columns.items() if column.kind in kinds]
        return self.random.sample(names, self.random.randint(1, min(len(names), most))) if names else self.choice(names)

    def value(self, kind: str) -> Any:
        values: dict[str, Any] = {"int": range(-4, 8), "float": FLOATS, "str": TEXTS, "datetime": DATES, "list": LISTS, "dict": DICTS}
        if kind == "array":
            return Text(f"array('d', {[self.random.choice(FLOATS) for _ in range(self.random.randint(0, 3))]!r})")
        return self.random.choice(values[kind])

    def values_text(self, kind: str, rows: int) -> str:
        missing = self.random.choice((0, 0, 0.2, 0.5))
        zone = self.random.choice((None, *ZONES)) if kind == "datetime" else None
        values = [None if self.random.random() < missing else self.value(kind) for _ in range(rows)]
        values = [
            value.replace(tzinfo=zone, year=min(max(value.year, 2), 9998)) if zone is not None and value is not None else value for value in values
        ]
        return repr(values).replace("datetime.timezone.utc", "datetime.UTC")

    def column_text(self, kind: str, rows: int) -> str:
        cls = CLASSES[kind]
        name = {"datetime": "datetime.datetime", "array": "array"}.get(kind, cls.__name__)
        return f"SArray({self.values_text(kind, rows)}, {name})"

    def look(self, alone: bool = True) -> str:
        name = self.choice(list(self.handles))
        return repr((name, self.choice(doors_of(self.handles[name], alone)), self.random.randint(0, 40), self.random.randint(0, 40)))


class Text(str):
    """Text of an expression; shown without quotes."""

    def __repr__(self) -> str:
        return str(self)
