"""Programs whose sorts, exchanges and scans the optimizer leaves out: sorts of sorted rows, groups, joins, parts of sorted frames."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.testing.oracle_functions import AGGREGATES
from tests.ordered_matrix.case import Case, Programs
from tests.ordered_matrix.expected import Rows, cumulative, cycles, grouped, is_key, ordered, running, window
from tests.ordered_matrix.expected_intervals import joined
from tests.ordered_matrix.row_programs import ALL, SMALL_STATES, operations
from tests.ordered_matrix.shapes import NAMES

PROGRAMS = Programs()

By = tuple[tuple[str, bool], ...]
UP: By = (("t", True),)
DOWN: By = (("t", False),)
UP_BOTH: By = (("t", True), ("w", True))
MIXED: By = (("t", False), ("w", True))
GROUPED: By = (("k", True), ("t", False))
ORDERS: dict[str, By] = {"t": UP, "t descending": DOWN, "t, w": UP_BOTH, "t descending, w": MIXED, "k, t descending": GROUPED}


def sorted_frame(frame: SFrame, *orders: By) -> SFrame:
    """A frame sorted in one order after the other."""
    for by in orders:
        frame = frame.sort(list(by))
    return frame


def sorted_rows(rows: Rows, *orders: By) -> Rows:
    """Rows sorted in one order after the other."""
    for by in orders:
        rows = ordered(rows, *by)
    return rows


def saved(case: Case, frame: SFrame) -> SFrame:
    """A frame that was saved and loaded."""
    path = str(Path(case.directory) / uuid.uuid4().hex)
    frame.save(path)
    return load_sframe(path)


for _name, _by in ORDERS.items():
    PROGRAMS.define(f"sort by {_name}", lambda case, by=_by: sorted_frame(case.frame, by), lambda case, by=_by: sorted_rows(case.rows, by))
for _first, _second in (("t", "t"), ("t, w", "t"), ("t", "t, w"), ("t descending", "t descending"), ("t descending", "t"), ("t", "t descending")):
    PROGRAMS.define(
        f"sort by {_first}, saved, then by {_second}",
        lambda case, a=ORDERS[_first], b=ORDERS[_second]: sorted_frame(saved(case, sorted_frame(case.frame, a)), b),
        lambda case, a=ORDERS[_first], b=ORDERS[_second]: sorted_rows(case.rows, a, b),
    )
for _first, _second in (
    ("t descending, w", "t descending"),
    ("t descending", "t descending, w"),
    ("t", "t, w"),
    ("k, t descending", "t descending"),
    ("t descending", "t"),
):
    PROGRAMS.define(
        f"sort by {_first}, then by {_second}",
        lambda case, a=ORDERS[_first], b=ORDERS[_second]: sorted_frame(case.frame, a, b),
        lambda case, a=ORDERS[_first], b=ORDERS[_second]: sorted_rows(case.rows, a, b),
    )

for _keys in (("t",), ("k",), ("t", "w"), ("k", "t")):
    _text = ", ".join(_keys)
    PROGRAMS.define(
        f"groupby {_text}",
        lambda case, keys=_keys: case.frame.groupby(list(keys), operations(ALL)),
        lambda case, keys=_keys: grouped(case.rows, sorted(keys), ALL),
        [*sorted(_keys), *ALL],
    )
    for _order in ("t", "t descending", "k, t descending"):
        PROGRAMS.define(
            f"sort by {_order}, then groupby {_text}",
            lambda case, keys=_keys, by=ORDERS[_order]: sorted_frame(case.frame, by).groupby(list(keys), operations(ALL)),
            lambda case, keys=_keys, by=ORDERS[_order]: grouped(sorted_rows(case.rows, by), sorted(keys), ALL),
            [*sorted(_keys), *ALL],
        )
PROGRAMS.define(
    "sort descending, saved, then groupby t",
    lambda case: saved(case, sorted_frame(case.frame, DOWN)).groupby("t", operations(ALL)),
    lambda case: grouped(sorted_rows(case.rows, DOWN), ["t"], ALL),
    ["t", *ALL],
)
PROGRAMS.define("unique keys", lambda case: case.frame[["t"]].unique(), lambda case: grouped(case.rows, ["t"], {}), ["t"])
PROGRAMS.define(
    "unique keys and groups of sorted rows",
    lambda case: sorted_frame(case.frame, UP)[["t", "k"]].unique(),
    lambda case: grouped(case.rows, ["k", "t"], {}),
    ["k", "t"],
)
FIRSTS = {name: ("select_one", (name,)) for name in ("k", "v", "w", "n")}
for _order in ("t", "t descending", "k, t descending"):
    PROGRAMS.define(
        f"sort by {_order}, then drop_duplicates",
        lambda case, by=ORDERS[_order]: sorted_frame(case.frame, by).drop_duplicates(["t"]),
        lambda case, by=ORDERS[_order]: grouped(sorted_rows(case.rows, by), ["t"], FIRSTS),
        ["t", "k", "v", "w", "n"],
    )

for _how in ("inner", "left", "right", "outer"):
    for _key in ("t", "w"):
        PROGRAMS.define(
            f"{_how} join with sorted rows on {_key}",
            lambda case, how=_how, key=_key: case.frame.join(case.other.sort(key)[[key, "n"]].rename({"n": "found"}), on=key, how=how),
            lambda case, how=_how, key=_key: joined(
                case.rows, [{key: row[key], "found": row["n"]} for row in ordered(case.others, (key, True))], key, how, "found"
            ),
            [*NAMES, "found"],
        )
    PROGRAMS.define(
        f"{_how} join of others with the frame",
        lambda case, how=_how: case.other.join(case.frame[["t", "n"]].rename({"n": "found"}), on="t", how=how),
        lambda case, how=_how: joined(case.others, [{"t": row["t"], "found": row["n"]} for row in case.rows], "t", how, "found"),
        [*NAMES, "found"],
    )

SLICES = {"head": slice(0, 4), "tail": slice(-3, None), "middle": slice(3, 9), "every third": slice(1, None, 3), "none": slice(5, 5)}
for _name, _part in SLICES.items():
    for _order in ("t", "t descending", "k, t descending"):
        PROGRAMS.define(
            f"sort by {_order}, then {_name}",
            lambda case, part=_part, by=ORDERS[_order]: sorted_frame(case.frame, by)[part],
            lambda case, part=_part, by=ORDERS[_order]: sorted_rows(case.rows, by)[part],
        )
    PROGRAMS.define(f"{_name} as stored", lambda case, part=_part: case.frame[part], lambda case, part=_part: case.rows[part])
for _reverse in (False, True):
    PROGRAMS.define(
        f"topk, reverse {_reverse}",
        lambda case, r=_reverse: case.frame.topk("t", k=4, reverse=r),
        lambda case, r=_reverse: ordered([row for row in case.rows if is_key(row["t"])], ("t", r))[:4],
    )


def bounds(case: Case) -> tuple[Any, Any]:
    """A key from the lower and one from the upper part of the frame."""
    keys = sorted(row["t"] for row in [*case.rows, *case.others] if is_key(row["t"])) or [0]
    return keys[len(keys) // 3], keys[2 * len(keys) // 3]


FILTERS = {
    "from": (lambda t, low, high: t >= low, lambda t, low, high: is_key(t) and t >= low),
    "above": (lambda t, low, high: t > high, lambda t, low, high: is_key(t) and t > high),
    "below": (lambda t, low, high: t < low, lambda t, low, high: is_key(t) and t < low),
    "between": (lambda t, low, high: (t > low) & (t <= high), lambda t, low, high: is_key(t) and low < t <= high),
    "at": (lambda t, low, high: t == low, lambda t, low, high: t == low),
    "not at": (lambda t, low, high: t != low, lambda t, low, high: t != low),
}
for _name, (_mask, _test) in FILTERS.items():
    PROGRAMS.define(
        f"rows {_name} a key",
        lambda case, mask=_mask: case.frame[mask(case.frame["t"], *bounds(case))],
        lambda case, test=_test: [row for row in case.rows if test(row["t"], *bounds(case))],
    )
    PROGRAMS.define(
        f"rows {_name} a key of rows sorted descending",
        lambda case, mask=_mask: filtered_and_sorted(case, mask),
        lambda case, test=_test: sorted_rows([row for row in sorted_rows(case.rows, DOWN) if test(row["t"], *bounds(case))], DOWN)[:6],
    )


def filtered_and_sorted(case: Case, mask: Any) -> SFrame:
    """The first rows of a part of a saved descending frame, sorted as it is."""
    frame = saved(case, sorted_frame(case.frame, DOWN))
    return frame[mask(frame["t"], *bounds(case))].sort("t", ascending=False)[:6]


PROGRAMS.define(
    "rows with and without keys",
    lambda case: case.frame.dropna("t").append(case.frame[case.frame["t"] == None]),  # noqa: E711  # a column is compared
    lambda case: [row for row in case.rows if is_key(row["t"])] + [row for row in case.rows if row["t"] is None],
)


EXTREMES = ("t", "v", "w", "n")
FACTS = ["rows", "missing", *[f"{name} {end}" for name in EXTREMES for end in ("min", "max")], "first", "last"]


def facts(frame: SFrame) -> SFrame:
    """Numbers that the manifest may tell: counts, bounds, first and last values."""
    found = [len(frame), frame["t"].countna()]
    for name in EXTREMES:
        found += [frame[name].min(), frame[name].max()]
    found += [frame["n"][0], frame["n"][-1]] if len(frame) else [None, None]
    return SFrame({name: [value] for name, value in zip(FACTS, found, strict=True)})[FACTS]


def true_facts(rows: Rows) -> Rows:
    """What they are."""
    found = [len(rows), sum(row["t"] is None for row in rows)]
    for name in EXTREMES:
        values = [row[name] for row in rows]
        found += [AGGREGATES[f"column_{end}"]([values], (), []) for end in ("min", "max")]
    found += [rows[0]["n"], rows[-1]["n"]] if rows else [None, None]
    return [dict(zip(FACTS, found, strict=True))]


PROGRAMS.define("counts and bounds", lambda case: facts(case.frame), lambda case: true_facts(case.rows), FACTS)
PROGRAMS.define(
    "counts and bounds of rows sorted descending",
    lambda case: facts(saved(case, sorted_frame(case.frame, MIXED))),
    lambda case: true_facts(sorted_rows(case.rows, MIXED)),
    FACTS,
)
PROGRAMS.define(
    "number of distinct keys of sorted rows",
    lambda case: sorted_frame(case.frame, GROUPED).groupby("k", {"keys": aggregate.COUNT_DISTINCT("t")}),
    lambda case: grouped(case.rows, ["k"], {"keys": ("count_distinct", ("t",))}),
    ["k", "keys"],
)

PROGRAMS.define(
    "descending, saved, then running, cumulative and window",
    lambda case: with_both(saved(case, sorted_frame(case.frame, DOWN)), case),
    lambda case: with_both_rows(sorted_rows(case.rows, DOWN), case),
    [*NAMES, *SMALL_STATES, "so far", "near"],
)
PROGRAMS.define(
    "filtered, sorted, cycles, sorted descending, cycles",
    lambda case: (
        case.frame[case.frame["n"] != 1]
        .groupby_cycles("t", "k", {"n": aggregate.MAX("n")})
        .sort("t", ascending=False)
        .groupby_cycles("t", None, {"last": aggregate.CONCAT("n")})
    ),
    lambda case: cycles(
        ordered(cycles([row for row in case.rows if row["n"] != 1], "t", ["k"], {"n": ("max", ("n",))}), ("t", False)),
        "t",
        (),
        {"last": ("concat", ("n",))},
    ),
    ["t", "last"],
)


def with_both(frame: SFrame, case: Case) -> SFrame:
    """Running aggregates, a cumulative sum and a window."""
    frame = frame.running(operations(SMALL_STATES), by="t")
    frame["so far"] = frame["v"].cumulative_sum()
    return frame.window("t", {"near": aggregate.CONCAT("n")}, before=2 * case.unit)


def with_both_rows(rows: Rows, case: Case) -> Rows:
    """What they give."""
    found = running(rows, SMALL_STATES, ["t"])
    sums = cumulative([row["v"] for row in rows], "sum")
    found = [{**row, "so far": value} for row, value in zip(found, sums, strict=True)]
    return window(found, {"near": ("concat", ("n",))}, 2 * case.unit, 0 * case.unit, ())
