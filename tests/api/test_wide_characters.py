"""Tables are as wide as they print: characters of two places, of none, and texts that are cut."""

from __future__ import annotations

import itertools
import unicodedata

from hypothesis import given, strategies as st

from sframe_spark import SFrame
from sframe_spark.api.display import CELL_WIDTH, TABLE_WIDTH, cell_text, display_width

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co", "Zl", "Zp"]), max_size=40)
MIXED = st.text("aé日本語ｶ한\u0301", max_size=60)


def places(line: str) -> int:
    """Places of a line, counted as terminals do."""
    taken = 0
    for character in line:
        if unicodedata.category(character) not in ("Mn", "Me", "Cf"):
            taken += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return taken


@given(st.lists(MIXED, min_size=1, max_size=5), st.lists(MIXED, min_size=1, max_size=3))
def test_tables_are_straight_and_their_values_fit(names: list[str], values: list[str]) -> None:
    frame = SFrame({f"{place}{name}": values for place, name in enumerate(names)})
    lines = [line for line in str(frame).splitlines() if line[:1] in ("|", "+")]
    # As in the reference a column stands beside others if its values fit, however wide its name is.
    widest_name = max(display_width(cell_text(name)) for name in frame.column_names())
    assert max(map(places, lines)) < TABLE_WIDTH + widest_name + 3
    # A wide frame is several tables, one below the other.
    for above, below in itertools.pairwise(lines):
        assert places(above) == places(below) or (above.startswith("+") and below.startswith("+")), (above, below)


@given(st.one_of(TEXTS, MIXED))
def test_a_cell_takes_no_more_places_than_it_may(text: str) -> None:
    shown = cell_text(text)
    assert display_width(shown) == places(shown) <= CELL_WIDTH
