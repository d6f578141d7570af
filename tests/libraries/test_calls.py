"""Libraries answer calls with an SFrame as with a frame of pandas, but for those of which ``calls.txt`` says why not."""

from __future__ import annotations

import pytest

from tests.libraries.calls import Library, answers, libraries


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", libraries(), ids=lambda library: library.name)
def test_calls_answer_as_with_pandas(library: Library) -> None:
    if not library.is_installed:
        pytest.skip(f"{library.name} is not installed: make libraries")
    wrong = []
    # One after the other: a picture is drawn into the figure that there is.
    all_here, all_expected = (list(answers(library, kind)) for kind in ("sframe_spark", "pandas"))
    for (call, here), (_, expected) in zip(all_here, all_expected, strict=True):
        if isinstance(expected, Exception):
            wrong.append(f"{call.code}: pandas has no answer: {expected!r:.200}")
        elif (call.difference is None) != (here == expected):
            wrong.append(f"{call.code}: {here!r:.200}, pandas: {expected!r:.100}")
    assert not wrong, "\n".join(wrong)


def test_the_table_of_calls_is_read() -> None:
    found = {library.name: library for library in libraries()}
    assert sum(len(library.calls) for library in found.values()) > 800
    assert found["seaborn"].calls[0].code.startswith("sns.") and "import seaborn as sns" in found["seaborn"].imports
    assert [call.code for call in found["seaborn"].calls if call.difference] == ["sns.pairplot(df[['x', 'y']])"]
    assert found["seaborn"].family == "pictures" and len(found) >= 60 and len({library.family for library in found.values()}) == 8
