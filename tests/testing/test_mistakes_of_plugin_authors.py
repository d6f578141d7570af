"""Each mistake of an author of a plug-in is found, with the message that the page shows; none is found never."""

from __future__ import annotations

import re
from typing import Any

import pytest

# It adds its own to the list.
import tests.testing.mistakes_of_source_authors  # noqa: F401
from tests.testing.mistakes_of_plugin_authors import MISTAKES, PAGE, Mistake, message_of

pytestmark = pytest.mark.usefixtures("own_registry")


def in_one_line(text: str) -> str:
    """The text without line breaks, so that it does not matter where a page breaks lines."""
    return re.sub(r"\s+", " ", text)


def section(made: Mistake) -> str:
    """What the page shows of a mistake."""
    _, found, rest = PAGE.read_text(encoding="utf-8").partition(f"\n## {made.title}\n")
    assert found, f"the page lacks {made.title!r}: python -m tests.testing.mistakes_of_plugin_authors writes it"
    return in_one_line(rest.partition("\n## ")[0])


def require_found(made: Mistake) -> None:
    message = message_of(made)
    assert message, "nothing finds it"
    # Other versions of Hypothesis may find other rows.
    said = in_one_line(message.splitlines()[0]).partition(": ")[0]
    assert said in section(made)
    assert made.found_by in section(made)


@pytest.mark.parametrize("made", [made for made in MISTAKES if not made.needs_spark], ids=lambda made: made.title)
def test_a_mistake_is_found(made: Mistake) -> None:
    require_found(made)


@pytest.mark.spark
@pytest.mark.parametrize("made", [made for made in MISTAKES if made.needs_spark], ids=lambda made: made.title)
def test_a_mistake_is_found_on_spark(made: Mistake, spark: Any) -> None:
    require_found(made)


def test_the_page_has_the_mistakes_and_no_others() -> None:
    assert re.findall(r"(?m)^## (.*)$", PAGE.read_text(encoding="utf-8")) == [made.title for made in MISTAKES]


def test_the_global_that_another_process_lacks_is_named() -> None:
    (made,) = [made for made in MISTAKES if made.title == "A function reads what only this process has"]
    assert f"RATES of {made.make.__module__} is {{'dollar': 2.0}} here, and {{}} there" in message_of(made)


def test_messages_say_what_to_change() -> None:
    marks = [made.mark for made in MISTAKES]
    assert min(marks) >= 4 and sum(marks) / len(marks) >= 4.5
