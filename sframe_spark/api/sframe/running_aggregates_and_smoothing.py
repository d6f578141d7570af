"""Members of SFrame for running aggregates and exponential smoothing over the rows up to each row."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from typing import Any

from sframe_spark.api.aggregates.argument_types import Aggregates, Names
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.column_names import name_list
from sframe_spark.api.error_hints import also_named, call_example
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational, narrowed
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.message_text import brief
from sframe_spark.operators.project_zip_arrange import columns_alongside
from sframe_spark.operators.window.running_by_group import running
from sframe_spark.operators.window.smoothed_column import CONVENTIONS, RESULTS, exponential_smoothing, mean_over_time
from sframe_spark.operators.window.smoothing_kinds import INTERPOLATIONS
from sframe_spark.types import DICT_KIND, FLOAT
from sframe_spark.values.duration_parsing import parse_positive_duration
from sframe_spark.values.plain_values import is_number


class RunningColumns(Relational):
    """Mixin of SFrame: columns that depend on the rows up to each row."""

    @call_example("sf.running({'total': aggregate.SUM('a')}, by='key')")
    @also_named(aggregates="operations")
    def running(self, operations: Aggregates, by: Names | None = None) -> SFrame:
        """Return this frame with further columns: aggregates of the rows up to and including each row.

        Memory per key: a few numbers for sums, counts, means, minima, maxima, variances and first values; all distinct values for ``COUNT_DISTINCT``,
        ``DISTINCT`` and ``FREQ_COUNT``; all values for ``CONCAT`` and ``QUANTILE``. Time is proportional to the number of rows or to the size of the
        result: lists and dicts of the values so far grow with each row. An aggregate of a plug-in without partial results is computed again for each
        row, in time quadratic in the rows of a key.

        Parameters
        ----------
        operations
            As in ``groupby``: an aggregate, a list of aggregates, or a dict from output name to aggregate.
        by
            A name or a list of names of columns: only rows with equal values in these are aggregated; missing values are equal to each other. None:
            all rows.

        Returns
        -------
        SFrame
            The columns of this frame, then the aggregates; rows keep their order.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an argument has another form, or a ``by`` column holds dicts.
        RuntimeError
            If two columns would have the same name, or an aggregate does not accept the class of its column.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]})
        >>> list(sf.running({"total": aggregate.SUM("v")}, by="k")["total"])
        [1, 2, 4]
        """
        keys = self._running_keys(by)
        aggregations, names = self._aggregates(self._names, operations)
        added = running(*narrowed(self._node, keys, aggregations))
        return make_frame(columns_alongside(self._node, added), names)

    def _running_keys(self, by: Any) -> list[int]:
        if (names := name_list(by)) is None:
            raise SchemaError(f"by takes a column name or a list of names, got {brief(by)}")
        keys = [self._position(name) for name in names]
        for key in keys:
            if self._node.schema[key].kind == DICT_KIND:
                raise SchemaError(f"column {self._names[key]!r} holds dicts, which cannot be compared: choose another 'by' column")
        return keys

    @call_example("sf.exponential_smoothing('a', on='time', half_life='2h')")
    def exponential_smoothing(
        self,
        column: str,
        on: str | None = None,
        *,
        half_life: float | datetime.timedelta | str | None = None,
        span: float | None = None,
        com: float | None = None,
        alpha: float | None = None,
        by: Names | None = None,
        kind: str = "mean",
        adjust: bool = True,
        interpolation: str | None = None,
        convention: str = "core",
        priming: float | datetime.timedelta | str | None = None,
    ) -> SArray:
        """Return, for each row, a weighted mean (or sum, or spread) of the values so far; weights halve with each half-life since a value.

        A value ``t`` before the row has the weight ``0.5 ** (t / half_life)``. Missing values are left out; before the first value the result is
        missing. A row whose time is missing or NaN is left out, and its result is missing.

        Parameters
        ----------
        column
            Name of the column of values, of class int or float.
        on
            Name of the column of times, of class int, float or datetime, which must not decrease within a key. None: time is counted in rows.
        half_life
            A positive duration: a number; for date-times, a ``timedelta`` or a string such as ``"2h"``; without ``on``, a number of rows.
        span, com, alpha
            Instead of ``half_life``, where time is counted in rows: with each row weights are multiplied by ``1 - alpha``, where ``alpha`` is above 0
            and up to 1; ``span``, from 1, means ``alpha = 2 / (span + 1)``, and ``com``, from 0, ``alpha = 1 / (com + 1)``.
        by
            A name or a list of names of columns: only rows with equal values in these count.

        kind
            ``"mean"``; ``"sum"``, which decays further at rows without a value; or ``"var"`` or ``"std"`` of the values as a sample (pandas'
            ``bias=False``), which are missing for one value.
        adjust
            Whether a value weighs by its age alone. False: the first value, and not the sum of weights, is what results begin with. By rows, a
            result is then ``1 - alpha`` of the one before and ``alpha`` of the value; by time, what has decayed since the last value is made up for
            by the value.
        interpolation
            The mean is one over time, in which each moment weighs by its age and has a value: between two rows that of the row before
            (``"previous"``), that on the line between them (``"linear"``) or that of the row after (``"current"``). None: only values weigh, by
            their age. Rows without a value show the mean at the value before.
        convention
            With ``interpolation``: ``"core"`` is the mean since the first value, and missing until time has passed since it; ``"convolution"`` is the
            same not divided by the weight of that time, so it begins at 0; ``"legacy"``, too, but with a value 0 at time zero (of date-times 1970).
        priming
            With ``interpolation``, but not for ``"legacy"``: how long before its first value a key has a value 0; a duration, as ``half_life``.

        Returns
        -------
        SArray
            One float for each row of this frame.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a column or the half-life has an unsuitable type.
        ValueError
            If there is no such kind, or it is a sum and ``adjust`` is false; if not exactly one of the four numbers is given, or it is out of its
            range, or it counts rows and ``on`` is given; if there is no such interpolation or convention, or one does not fit the other arguments.
        RuntimeError
            When rows are computed, if times decrease.

        Source: exponentially weighted moving average by time, as in Flint's ``ewma`` and pandas' ``ewm(halflife=..., times=...)``, with
        ``adjust=False`` as in Polars' ``ewm_mean_by``, with ``interpolation`` as in Flint's ``ema_halflife``; of rows, as in ``ewm_mean``,
        ``ewm_std`` and ``ewm_var`` of Polars and ``ewm(ignore_na=False)`` of pandas.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"t": [0, 10, 20], "v": [1.0, 4.0, 4.0]})
        >>> list(sf.exponential_smoothing("v", on="t", half_life=10))
        [1.0, 3.0, 3.5714285714285716]
        >>> list(sf.exponential_smoothing("v", alpha=0.5))
        [1.0, 3.0, 3.5714285714285716]
        >>> list(sf.exponential_smoothing("v", alpha=0.5, kind="sum"))
        [1.0, 4.5, 6.25]
        >>> list(sf.exponential_smoothing("v", alpha=0.5, adjust=False))
        [1.0, 2.5, 3.25]
        >>> list(sf.exponential_smoothing("v", on="t", half_life=10, interpolation="previous"))
        [None, 1.0, 3.0]
        """
        check_kind(kind, adjust)
        check_interpolation(interpolation, convention, priming, on, (kind, adjust))
        half_life = half_life_of(half_life, {"span": span, "com": com, "alpha": alpha}, on)
        value = self._position(column)
        time = None if on is None else self._position(on)
        keys = self._running_keys(by)
        weight = parse_positive_duration(half_life, FLOAT if time is None else self._node.schema[time], "half_life")
        node, (value, *moved), _ = narrowed(self._node, [value, *keys, *([] if time is None else [time])], [])
        keys, time = (moved, None) if time is None else (moved[:-1], moved[-1])
        if interpolation is not None and time is not None:
            primed = 0.0 if priming is None else parse_positive_duration(priming, node.schema[time], "priming")
            return SArray(_node=mean_over_time(node, value, time, keys, weight, interpolation, convention, primed))
        return SArray(_node=exponential_smoothing(node, value, time, keys, weight, kind, adjust))


# By name: how weights decrease with each row, and the range of the number, with or without its lower end.
DECAYS: dict[str, tuple[Callable[[float], float], str]] = {
    "span": (lambda span: 2.0 / (span + 1.0) if span >= 1.0 else math.nan, "from 1"),
    "com": (lambda com: 1.0 / (com + 1.0) if com >= 0.0 else math.nan, "from 0"),
    "alpha": (lambda alpha: alpha if 0.0 < alpha <= 1.0 else math.nan, "above 0 and up to 1"),
}
# With half-lives below this all weights but that of the last value are zero.
SMALLEST_HALF_LIFE = 1.0 / 1200.0


def check_kind(kind: Any, adjust: Any) -> None:
    """Refuse kinds of results that there are not.

    Raises
    ------
    InvalidArgumentError
        If there is no such kind, or a sum is requested without ``adjust``.
    SchemaError
        If ``adjust`` is not True or False.
    """
    if kind not in RESULTS:
        raise InvalidArgumentError(f"kind must be one of {', '.join(map(repr, RESULTS))}, got {brief(kind)}")
    if not isinstance(adjust, bool):
        raise SchemaError(f"adjust must be True or False, got {brief(adjust)}")
    if kind == "sum" and not adjust:
        raise InvalidArgumentError("in a sum, values are weighted by their age alone: kind='sum' needs adjust=True")


def check_interpolation(interpolation: Any, convention: Any, priming: Any, on: str | None, kind: tuple[str, bool]) -> None:
    """Refuse interpolations and conventions that there are not, and arguments that do not go with each other.

    Raises
    ------
    InvalidArgumentError
        If there is no such interpolation or convention, or it does not fit another argument.
    """
    if convention not in CONVENTIONS:
        raise InvalidArgumentError(f"convention is one of {', '.join(map(repr, CONVENTIONS))}, got {brief(convention)}")
    if interpolation is None:
        if convention != "core" or priming is not None:
            raise InvalidArgumentError("convention= and priming= say how a mean over time begins: give interpolation='previous', too")
        return
    if interpolation not in INTERPOLATIONS:
        raise InvalidArgumentError(f"interpolation is one of {', '.join(map(repr, INTERPOLATIONS))}, got {brief(interpolation)}")
    if on is None:
        raise InvalidArgumentError("interpolation= is by time: give on=, the column of times")
    if kind != ("mean", True):
        raise InvalidArgumentError("interpolation= is for means: it takes kind='mean' and adjust=True")
    if convention == "legacy" and priming is not None:
        raise InvalidArgumentError("convention='legacy' has a value 0 at time zero: it takes no priming=")


def half_life_of(half_life: Any, others: Mapping[str, Any], on: str | None) -> Any:
    """Return the half-life, or that in rows which one of the other numbers means.

    Raises
    ------
    InvalidArgumentError
        If not exactly one is given, or it is out of its range, or time is not counted in rows.
    SchemaError
        If it is not a number.

    Examples
    --------
    >>> half_life_of(None, {"span": 3, "com": None, "alpha": None}, None)
    1.0
    """
    given = {name: number for name, number in others.items() if number is not None}
    if len(given) + (half_life is not None) != 1:
        raise InvalidArgumentError("exponential_smoothing() takes one of half_life=, span=, com= and alpha=")
    if half_life is not None:
        return half_life
    ((name, number),) = given.items()
    if on is not None:
        raise InvalidArgumentError(f"{name} counts rows: with on={on!r}, use half_life=, a duration")
    if not is_number(number):
        raise SchemaError(f"{name} must be a number, got {brief(number)}")
    alpha, bounds = DECAYS[name][0](float(number)), DECAYS[name][1]
    if math.isnan(alpha):
        raise InvalidArgumentError(f"{name} must be a number {bounds}, got {brief(number)}")
    return max(math.log(2.0) / -math.log1p(-alpha), SMALLEST_HALF_LIFE) if alpha < 1.0 else SMALLEST_HALF_LIFE
