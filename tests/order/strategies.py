"""Random property sets over a few columns."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

COLUMNS = ("a", "b", "c", "d")


def columns(width: int) -> st.SearchStrategy[str]:
    return st.sampled_from(COLUMNS[:width])


def items(width: int, nulls: bool) -> st.SearchStrategy[list[str]]:
    placed = st.sampled_from([[], ["nulls_first"], ["nulls_last"]]) if nulls else st.just([])
    return st.builds(lambda column, direction, more: [column, direction, *more], columns(width), st.sampled_from(["asc", "desc"]), placed)


def orderings(width: int, nulls: bool, length: int = 4) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(items(width, nulls), max_size=length)


def functions(width: int) -> st.SearchStrategy[dict[str, Any]]:
    effects = st.sampled_from(["inc", "dec"])

    def function(chosen: list[str], directions: list[str], strict: bool) -> dict[str, Any]:
        return {"col": chosen[0], "args": [[column, direction] for column, direction in zip(chosen[1:], directions, strict=False)], "strict": strict}

    chosen = st.lists(columns(width), min_size=2, max_size=min(3, width), unique=True)
    return st.builds(function, chosen, st.lists(effects, min_size=3, max_size=3), st.booleans())


def property_sets(width: int, nulls: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Properties written as in the case files."""
    some = st.lists(columns(width), min_size=1, max_size=2, unique=True)
    return st.fixed_dictionaries(
        {
            "constants": st.lists(columns(width), max_size=1),
            "equivalences": st.lists(st.lists(columns(width), min_size=2, max_size=3), max_size=1),
            "orderings": st.lists(orderings(width, nulls), max_size=4),
            "fds": st.lists(st.tuples(some, some), max_size=2),
            "keys": st.lists(st.lists(columns(width), min_size=1, max_size=3, unique=True), max_size=1),
            "monotone": st.lists(functions(width), max_size=2),
            "not_null": st.lists(columns(width), max_size=2) if nulls else st.just(list(COLUMNS[:width])),
        }
    )
