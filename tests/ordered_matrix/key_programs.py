"""Programs that put rows together by their key: as-of joins, merges, windows, cycles, runs, intervals."""

from __future__ import annotations

from typing import Any

from sframe_spark import SArray, SFrame
from tests.ordered_matrix.case import Case, Programs
from tests.ordered_matrix.expected import Rows, asof, by_cycle, cycles, ordered, runs, window
from tests.ordered_matrix.expected_intervals import intervals, resampled
from tests.ordered_matrix.row_programs import ALL, operations
from tests.ordered_matrix.shapes import FIRST_DAY, NAMES

PROGRAMS = Programs()

ASOF_VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "near": {"tolerance": 1},
    "other": {"exact": False},
    "by": {"by": ("k",)},
    "by near other": {"by": ("k",), "tolerance": 2, "exact": False},
}


def as_of(case: Case, frame: SFrame, other: SFrame, direction: str) -> SFrame:
    """All variants of an as-of join, one after the other."""
    for name, variant in ASOF_VARIANTS.items():
        found = other[["t", "k", "n"]] if "by" in variant else other[["t", "n"]]
        tolerance = variant["tolerance"] * case.unit if "tolerance" in variant else None
        frame = frame.asof_join(
            found.rename({"n": name}), on="t", by=variant.get("by"), tolerance=tolerance, direction=direction, allow_exact=variant.get("exact", True)
        )
    return frame


def as_of_rows(case: Case, rows: Rows, others: Rows, direction: str) -> Rows:
    """What they give."""
    for name, variant in ASOF_VARIANTS.items():
        options = {**variant, **({"tolerance": variant["tolerance"] * case.unit} if "tolerance" in variant else {})}
        rows = asof(rows, others, {name: "n"}, direction=direction, **options)
    return rows


ASOF_NAMES = [*NAMES, *ASOF_VARIANTS]
for _direction in ("backward", "forward", "nearest"):
    PROGRAMS.define(
        f"asof_join {_direction}",
        lambda case, d=_direction: as_of(case, case.frame, case.other, d),
        lambda case, d=_direction: as_of_rows(case, case.rows, case.others, d),
        ASOF_NAMES,
    )
    PROGRAMS.define(
        f"asof_join {_direction} to the frame, sorted descending",
        lambda case, d=_direction: as_of(case, case.other, case.frame.sort("t", ascending=False), d),
        lambda case, d=_direction: as_of_rows(case, case.others, ordered(case.rows, ("t", False)), d),
        ASOF_NAMES,
    )
PROGRAMS.define(
    "asof_join with itself",
    lambda case: as_of(case, case.frame.sort("t"), case.frame, "nearest"),
    lambda case: as_of_rows(case, ordered(case.rows, ("t", True)), case.rows, "nearest"),
    ASOF_NAMES,
)

PROGRAMS.define(
    "merge_sorted",
    lambda case: case.frame.sort("t").merge_sorted(case.other.sort("t"), on="t"),
    lambda case: ordered(ordered(case.rows, ("t", True)) + ordered(case.others, ("t", True)), ("t", True)),
)
PROGRAMS.define(
    "merge_sorted with itself, then runs",
    lambda case: case.frame.sort("t").merge_sorted(case.frame.sort("t"), on="t").groupby_runs("t", operations(ALL)),
    lambda case: runs(ordered(case.rows + case.rows, ("t", True)), ["t"], ALL),
    ["t", *ALL],
)

for _before, _after, _by in ((2, None, ()), (None, 3, ("k",)), (1, 1, ()), (0, None, ("k", "w")), (40, 40, ("k",))):
    PROGRAMS.define(
        f"window {_before} before, {_after} after, by {', '.join(_by) or 'nothing'}",
        lambda case, b=_before, a=_after, by=_by: case.frame.window(
            "t", operations(ALL), before=None if b is None else b * case.unit, after=None if a is None else a * case.unit, by=list(by) or None
        ),
        lambda case, b=_before, a=_after, by=_by: window(case.rows, ALL, (b or 0) * case.unit, (a or 0) * case.unit, by),
        [*NAMES, *ALL],
    )

for _by in ((), ("k",), ("w", "k")):
    PROGRAMS.define(
        f"groupby_cycles by {', '.join(_by) or 'nothing'}",
        lambda case, by=_by: case.frame.groupby_cycles("t", list(by) or None, operations(ALL)),
        lambda case, by=_by: cycles(case.rows, "t", by, ALL),
        ["t", *_by, *ALL],
    )
PROGRAMS.define(
    "groupby_cycles of rows sorted descending",
    lambda case: case.frame.sort("t", ascending=False).groupby_cycles("t", "k", operations(ALL)),
    lambda case: cycles(ordered(case.rows, ("t", False)), "t", ["k"], ALL),
    ["t", "k", *ALL],
)


def places(rows: list[dict[str, Any]]) -> list[int]:
    """Place of each row in its cycle, and the sum of the numbers of all its rows."""
    total = sum(row["n"] for row in rows)
    return [1000 * total + place for place in range(len(rows))]


for _by in ((), ("k",)):
    PROGRAMS.define(
        f"add_columns_by_cycle by {', '.join(_by) or 'nothing'}",
        lambda case, by=_by: case.frame.add_columns_by_cycle(places, "place", "t", list(by) or None, dtypes=int),
        lambda case, by=_by: by_cycle(case.rows, "t", by, "place", places),
        [*NAMES, "place"],
    )

for _keys in (("k",), ("t",), ("t", "w"), ("v",)):
    PROGRAMS.define(
        f"groupby_runs of {', '.join(_keys)}",
        lambda case, keys=_keys: case.frame.groupby_runs(list(keys), operations(ALL)),
        lambda case, keys=_keys: runs(case.rows, keys, ALL),
        [*_keys, *ALL],
    )
PROGRAMS.define(
    "groupby_runs of rows sorted descending, appended to themselves reversed",
    lambda case: case.frame.sort("t", ascending=False).append(case.frame.sort("t")).groupby_runs("t", operations(ALL)),
    lambda case: runs(ordered(case.rows, ("t", False)) + ordered(case.rows, ("t", True)), ["t"], ALL),
    ["t", *ALL],
)

for _closed in ("left", "right"):
    for _label in ("left", "right"):
        PROGRAMS.define(
            f"groupby_intervals every, closed {_closed}, label {_label}",
            lambda case, c=_closed, s=_label: case.frame.groupby_intervals("t", every=3 * case.unit, closed=c, label=s, operations=operations(ALL)),
            lambda case, c=_closed, s=_label: intervals(case.rows, (), ALL, every=3 * case.unit, closed=c, label=s),
            ["t", *ALL],
        )


def ticks(case: Case) -> list[Any]:
    """Ticks of a clock that is uneven and leaves rows outside."""
    kind = case.shape.key_type.kind
    start = FIRST_DAY if kind == "datetime" else 2**53 if case.shape.name == "beyond 2**53" else 0.0 if kind == "float" else 0
    start = start if case.shape.first is None else case.shape.first
    return [start + step * case.unit for step in (1, 2, 5, 26, 30)]


for _closed in ("left", "right"):
    PROGRAMS.define(
        f"groupby_intervals of a clock by key, closed {_closed}",
        lambda case, c=_closed: case.frame.groupby_intervals("t", clock=SArray(ticks(case)), closed=c, by="k", operations=operations(ALL)),
        lambda case, c=_closed: intervals(case.rows, ["k"], ALL, ticks=ticks(case), closed=c),
        ["t", "k", *ALL],
    )
for _fill in ("missing", "forward"):
    for _by in ((), ("k",)):
        PROGRAMS.define(
            f"resample by {', '.join(_by) or 'nothing'}, {_fill}",
            lambda case, f=_fill, by=_by: case.frame.resample("t", 2 * case.unit, operations(ALL), by=list(by) or None, fill=f),
            lambda case, f=_fill, by=_by: resampled(case.rows, 2 * case.unit, by, ALL, f == "forward"),
            ["t", *_by, *ALL],
        )
