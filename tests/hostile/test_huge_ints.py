"""Ints of which Python has no text, or no float: each door takes them for what they are, or refuses them by an error of ours that can be shown."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.config import Configuration, Option
from sframe_spark.errors import BeyondRangeError, InexactNumberWarning, SFrameError
from sframe_spark.message_text import brief
from sframe_spark.planner.operator_parameters import identity_text

FRAME = SFrame({"a": [1, 2, 3], "b": [1.5, 2.5, None], "s": ["x", "y", "z"], "l": [[1], [2], [3]], "d": [{1: 2}, {2: 3}, {"k": 1}]})
SIGNS = ("eq", "ne", "lt", "gt", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "radd", "rsub", "rpow", "and", "or")
DTYPES = (None, int, float, str, list, dict)
HUGE = {"no text": 10**5000, "no text, negative": -(10**5000), "no float": 10**400, "no float, negative": -(10**400), "no 64 bits": 10**30}
LONGEST_MESSAGE = 2000
Door = Callable[[Any], Any]


def doors_of(name: str) -> Iterator[tuple[str, Door]]:
    """What takes a number beside a column."""
    column = FRAME[name]
    for sign in SIGNS:
        yield f"{name}.{sign}", lambda value, sign=sign: list(getattr(column, f"__{sign}__")(value))
    for dtype in DTYPES:
        made: Door = {list: lambda value: [value], dict: lambda value: {value: value}}.get(dtype, lambda value: value)  # type: ignore[call-overload]
        yield f"{name}.apply {dtype}", lambda value, dtype=dtype, made=made: list(column.apply(lambda _: made(value), dtype=dtype))
    calls = {
        "is_in": lambda value: column.is_in([value]),
        "is_in list": lambda value: column.is_in([[value]]),
        "is_in mixed": lambda value: column.is_in(["x", value]),
        "fillna": lambda value: column.fillna(value),
        "contains": lambda value: column.contains(value),
        "clip": lambda value: column.clip(value, value),
        "clip_lower": lambda value: column.clip_lower(value),
        "head": lambda value: column.head(value),
        "tail": lambda value: column.tail(value),
        "item": lambda value: [column[value]],
        "from": lambda value: column[value:],
        "to": lambda value: column[:value],
        "step": lambda value: column[::value],
        "slice": lambda value: column[-value:value:2],
        "sample": lambda value: column.sample(value),
        "sample seed": lambda value: column.sample(0.5, seed=value),
        "hash": lambda value: column.hash(value),
        "topk_index": lambda value: column.topk_index(value),
        "rolling_sum": lambda value: column.rolling_sum(value, 0),
        "rolling_mean": lambda value: column.rolling_mean(0, value),
        "diff": lambda value: column.diff(value),
        "where": lambda value: SArray.where(FRAME["a"] > 1, column, value),
        "dict_has_any_keys": lambda value: column.dict_has_any_keys([value]),
        "dict_trim_by_keys": lambda value: column.dict_trim_by_keys([value]),
        "dict_trim_by_values": lambda value: column.dict_trim_by_values(value),
        "unpack": lambda value: column.unpack(limit=[value]),
        "element_slice": lambda value: column.element_slice(0, value),
        "str_pad": lambda value: column.astype(str).str_pad(value),
        "vector_slice": lambda value: column.vector_slice(value),
    }
    yield from ((f"{name}.{call}", lambda value, call=call: list(calls[call](value))) for call in calls)


def other_doors() -> Iterator[tuple[str, Door]]:
    """What makes columns, and takes numbers of rows, names and settings."""
    for dtype in (None, int, float, str):
        yield f"SArray {dtype}", lambda value, dtype=dtype: SArray([value], **({} if dtype is None else {"dtype": dtype}))
    for given in (lambda v: [1.5, v], lambda v: [[v, "x"]], lambda v: [{v: 1}], lambda v: [{"a": v}], lambda v: [[{"a": [v]}]], lambda v: [[v, 1.5]]):
        yield "SArray of values", lambda value, given=given: SArray(given(value))
    frame, sketch = FRAME, FRAME["a"].summary()
    calls: dict[str, Door] = {
        "const": lambda value: SArray.from_const(value, 3),
        "const size": lambda value: SArray.from_const(1, value),
        "sequence": SArray.from_sequence,
        "sequence from": lambda value: SArray.from_sequence(0, value),
        "values": lambda value: SFrame({"x": [value]}),
        "rows": lambda value: SFrame([{"x": value}]),
        "name": lambda value: SFrame({value: [1]}),
        "item": lambda value: frame[value],
        "slice": lambda value: list(frame[value:]),
        "head": frame.head,
        "sample": frame.sample,
        "seed": lambda value: list(frame.sample(0.5, seed=value)),
        "split": lambda value: frame.random_split(0.5, seed=value),
        "fillna": lambda value: list(frame.fillna("a", value)),
        "row number": lambda value: list(frame.add_row_number(start=value)),
        "topk": lambda value: list(frame.topk("a", value)),
        "apply": lambda value: list(frame.apply(lambda _: value)),
        "flat_map": lambda value: list(frame.flat_map(["q"], lambda _: [[value]])),
        "print": lambda value: frame.print_rows(value),
        "filter_by": lambda value: list(frame.filter_by([value], "b")),
        "select": lambda value: frame.select_columns([value]),
        "rename": lambda value: frame.rename({"a": value}),
        "quantile": lambda value: frame.groupby("a", {"q": aggregate.QUANTILE("b", value)}),
        "stack": lambda value: frame.stack("l", new_column_name=value),
        "pack": lambda value: frame.pack_columns([value]),
        "sort": frame.sort,
        "running": lambda value: frame.running("a", value),
        "lag": lambda value: list(frame.shift("a", value, by="b")),
        "lags": lambda value: list(frame.diff("a", [1, value], by="b")),
        "fill of a lag": lambda value: list(frame.shift("a", fill=value, by="b")),
        "window of a key": lambda value: list(frame.rolling_sum("a", -1, value, 1, by="b")),
        "start of a window of a key": lambda value: list(frame.rolling_sum("a", value, 0, 1, by="b")),
        "window of ranks": lambda value: list(frame.rolling_rank("a", value, 1, by="b")),
        "bins": lambda value: list(frame["a"].qcut(value)),
        "edge of bins": lambda value: list(frame["a"].cut([0, value])),
        "limit": lambda value: list(frame.fill_forward("a", by="b", limit=value)),
        "limit back": lambda value: list(frame["a"].fill_backward(value)),
        "limit of interpolation": lambda value: list(frame.interpolate("a", on="a", limit=value)),
        "quantile of sketch": sketch.quantile,
        "frequency": sketch.frequency_count,
        "plot": lambda value: frame["a"].plot(value),
        "explain": lambda value: str(frame["a"].is_in([value]).explain()),
    }
    yield from calls.items()
    for name, option in vars(Configuration).items():
        if isinstance(option, Option):
            yield f"config.{name}", lambda value, name=name: config.using(**{name: value}).__enter__()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("which", HUGE)
@pytest.mark.parametrize("doors", [*FRAME.column_names(), "others"])
def test_huge_ints_are_taken_or_refused_in_words_of_ours(doors: str, which: str) -> None:
    told = {}
    for name, door in other_doors() if doors == "others" else doors_of(doors):
        with contextlib.redirect_stdout(io.StringIO()), config.using():
            try:
                door(HUGE[which])
            except SFrameError as error:
                assert len(str(error)) < LONGEST_MESSAGE, name
            except AttributeError as error:
                # Signs that columns do not have.
                assert "has no attribute '__" in str(error), name
            except InexactNumberWarning as warning:
                assert len(str(warning)) < LONGEST_MESSAGE, name
            except Exception as error:
                told[name] = f"{type(error).__name__}: {error}"[:100]
    assert told == {}


def test_answers_about_huge_ints() -> None:
    for huge in HUGE.values():
        if abs(huge) < 10**300:
            assert list(FRAME["a"].is_in([huge, 2])) == [0, 1, 0]
        else:
            with pytest.raises(BeyondRangeError, match=r"an int of [0-9]+ bits is beyond the largest float"):
                list(FRAME["a"].is_in([huge, 2]))
        assert len(FRAME["a"].head(abs(huge))) == len(FRAME["a"][: abs(huge)]) == 3
        with pytest.raises(BeyondRangeError, match="seed must be an int of 32 bits"):
            FRAME["a"].sample(0.5, seed=huge)


def test_what_python_shows_no_text_of_is_told() -> None:
    digits = sys.get_int_max_str_digits()
    assert brief(10 ** (digits - 1)) == "1" + "0" * 59
    assert brief(10**digits) == f"an int of {(10**digits).bit_length()} bits"
    assert brief([{"a": 10**digits}]) == "a list with an int of thousands of digits"
    assert identity_text((10**digits,)) == identity_text((10**digits,)) != identity_text((10**digits + 1,))
