"""Every aggregate by every driver that takes it: one value, whatever runs it and however rows are cut into batches.

Values come from the models in plain Python beside this file, the reference's from ``tests/data/aggregates/drivers.json``.
"""

from __future__ import annotations

import array
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import sframe_spark.expressions.aggregates  # noqa: F401 - fills the table
from sframe_spark import SArray, aggregate
from sframe_spark.errors import SFrameError
from sframe_spark.expressions.aggregates import histograms_summaries_and_rank_counts as profiling
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy, group_by
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.operators.window.rolling import Rolling
from sframe_spark.planner.node import is_builtin
from sframe_spark.plugin import Decomposition, define_aggregate
from sframe_spark.testing.lowering_checks import run_lowering
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, NDARRAY, STR, ZONED_DATETIME, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from tests.examples import by_turns
from tests.expressions.aggregates import drivers, model
from tests.expressions.aggregates.cases import COLUMNS
from tests.expressions.aggregates.drivers import WINDOWS
from tests.expressions.aggregates.model import Refused, Rules, Values
from tests.facts import from_fact, load_facts, same

# What differs by form. The first two parts hold for a name in all drivers: whole columns, groups at once and from parts, runs,
# `running(by=)`, `window()` and Spark. What is from the "reference" is checked below against what it gave; "ours" tells what it does.
RULES: dict[str, tuple[Rules, str]] = {
    # groupby, and all that follows it
    "sum": (Rules(none="zero"), "reference"),
    "sum of vectors": (Rules(none="zero", ragged="missing"), "reference"),
    "mean": (Rules(none=None), "reference"),
    "mean of vectors": (Rules(none="zero", ragged="missing"), "reference"),
    "sum of ndarrays": (Rules(none="zero", ragged="error"), "reference"),
    "mean of ndarrays": (Rules(none="zero", ragged="error"), "reference"),
    "var": (Rules(none=0.0), "ours: there, the spread of one NaN or infinity is 0 (docs/deviations.md)"),
    "std": (Rules(none=0.0), "ours: as var"),
    "min": (Rules(nan="spreads", zoned="offset"), "ours: there, of NaN and of date-times of one instant, whichever a thread meets first"),
    "max": (Rules(nan="spreads", zoned="offset"), "ours: as min"),
    "argmin": (Rules(ties="first"), "ours: there, of ties and NaN, any row"),
    "argmax": (Rules(ties="first"), "ours: as argmin"),
    "quantile": (Rules(), "ours: there, NaN sorts anywhere; here last"),
    "count_distinct": (Rules(), "reference"),
    "freq_count": (Rules(), "reference"),
    # SArray.sum and so on
    "column_vector_sum": (Rules(none="zero", ragged="error"), "reference"),
    "column_vector_mean": (Rules(none=None, ragged="error"), "reference"),
    "column_ndarray_mean": (Rules(none=None, ragged="error"), "reference"),
    "column_var": (Rules(none=None), "ours: as var"),
    "column_std": (Rules(none=None), "ours: as var"),
    "column_min": (Rules(nan="skipped", zoned="first"), "reference"),
    "column_max": (Rules(nan="skipped", zoned="first"), "reference"),
    "argmin_row": (Rules(ties="last"), "ours: there, any of ties, and an error if the first value is missing"),
    "argmax_row": (Rules(ties="last"), "ours: as argmin_row"),
    # SArray.cumulative_sum and so on
    "cumulative_sum": (Rules(none=None, ragged="error"), "reference"),
    "cumulative_mean": (Rules(none=None, ragged="error"), "reference"),
    "cumulative_min": (Rules(nan="first", zoned="first"), "reference"),
    "cumulative_max": (Rules(nan="first", zoned="first"), "reference"),
    "cumulative_var": (Rules(none=None), "ours: as var"),
    "cumulative_std": (Rules(none=None), "ours: as var"),
    # SArray.rolling_sum and so on; with min_observations=0, sums and spreads of no value are 0
    "rolling_sum": (Rules(none=None, ragged="missing"), "reference"),
    "rolling_mean": (Rules(none=None, ragged="missing"), "reference"),
    "rolling_min": (Rules(nan="first", zoned="first"), "reference"),
    "rolling_max": (Rules(nan="first", zoned="first"), "reference"),
    "rolling_var": (Rules(none=None), "ours: as var"),
    "rolling_stdv": (Rules(none=None), "ours: as var"),
    "rolling_count": (Rules(), "reference"),
}
# The forms without such rules: what the reference has not; counts; values in row order, which the reference has in any order; charts.
RULELESS = (
    *("skewness", "correlation", "kurtosis", "moment", "covariance", "weighted_mean", "weighted_covariance", "weighted_correlation", "dot_product"),
    *("linear_regression", "zscore", "product", "geometric_mean", "interpolated_quantile"),
    *("first_known", "last", "last_known", "first_known_by", "last_by", "last_known_by"),
    *("count", "count_values", "count_missing", "count_runs", "select_one", "concat", "distinct", "finite_range"),
)  # fmt: skip
# Of these, what all rows at once give is expected of all drivers and cuts.
CHARTS = (
    *("histogram", "label_counts", "label_histograms", "label_ranges", "bin_ranges", "item_kinds", "summary", "key_counts", "keys_between"),
)  # fmt: skip


def has_equal_instants(values: Values) -> bool:
    moments = model.present(values)
    return len(set(map(model.instant, moments))) < len(moments)


# The matrix.


@pytest.fixture(scope="module", autouse=True)
def few_ranges_of_keys() -> Iterator[None]:
    """Counts of keys are lists of 16 numbers, not of 16,384."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiling, "RANGES", 16)
        yield


TYPES: dict[str, ColumnType] = {
    "int": INT, "float": FLOAT, "str": STR, "datetime": DATETIME, "zoned": ZONED_DATETIME, "vector": ARRAY, "ndarray": NDARRAY,
    "list": list_of(INT), "encoded list": ENCODED_LIST, "dict": dict_of(STR, INT), "encoded dict": ENCODED_DICT,
}  # fmt: skip
ZEROS = {"int": 0, "float": 0.0, "vector": array.array("d"), "ndarray": np.zeros(0)}
SHARES = (0.0, 0.3, 0.5, 1.0)
# What stands beside the values in the rows of a case.
BY, LABEL = (1.0, None, 2.0, 1.0, 2.0), ("b", None, "a", "b", "a")
BESIDE = {"by": (BY, FLOAT), "label": (LABEL, STR)}
POSITIONS = {"key": 0, "place": 1, "v": 2, "by": 3, "label": 4}
NUMBERS, ORDERED = ("int", "float"), ("int", "float", "datetime", "zoned")
# By aggregate: the types that it takes, its argument columns, its parameters.
TAKEN: list[tuple[str, Sequence[str], tuple[str, ...], tuple[Any, ...]]] = [
    ("count", tuple(TYPES), (), ()),
    *((name, tuple(TYPES), ("v",), ()) for name in ("count_values", "count_missing", "count_distinct", "distinct", "select_one", "concat")),
    *((name, tuple(TYPES), ("v",), ()) for name in ("first_known", "last", "last_known")),
    *((name, tuple(TYPES), ("by", "v"), ()) for name in ("argmin", "argmax", "first_known_by", "last_by", "last_known_by")),
    ("concat", tuple(TYPES), ("label", "v"), ()),
    ("concat", ("int", "float", "str"), ("v", "place"), ()),
    *((name, (*NUMBERS, "vector", "ndarray"), ("v",), ()) for name in ("sum", "mean")),
    *((name, NUMBERS, ("v",), ()) for name in ("var", "std", "finite_range", "summary")),
    *((name, NUMBERS, ("v",), (ddof,)) for name in ("column_var", "column_std") for ddof in (0, 1)),
    *((name, NUMBERS, ("v",), (1,)) for name in ("var", "std")),
    *(("skewness", NUMBERS, ("v",), parameters) for parameters in ((), (False,))),
    *(("kurtosis", NUMBERS, ("v",), parameters) for parameters in ((True, True), (False, False))),
    *(("moment", NUMBERS, ("v",), parameters) for parameters in ((1, False), (3, False), (4, True))),
    *(("covariance", NUMBERS, arguments, (ddof,)) for arguments, ddof in ((("v", "by"), 0), (("v", "v"), 1))),
    *(("weighted_mean", NUMBERS, arguments, ()) for arguments in (("v", "by"), ("by", "v"))),
    *(("weighted_covariance", NUMBERS, ("v", "place", "by"), (ddof,)) for ddof in (0, 1)),
    *(("weighted_correlation", NUMBERS, arguments, ()) for arguments in (("v", "place", "by"), ("by", "place", "v"))),
    *(("dot_product", NUMBERS, arguments, ()) for arguments in (("v", "by"), ("v", "v"))),
    ("linear_regression", NUMBERS, ("v", "place"), (("place",), False)),
    ("linear_regression", NUMBERS, ("place", "v", "by"), (("v",), True)),
    ("linear_regression", NUMBERS, ("by", "place", "v"), (("place", "v"), False)),
    *(("zscore", NUMBERS, ("v",), parameters) for parameters in ((0, True), (1, False))),
    *((name, NUMBERS, ("v",), ()) for name in ("product", "geometric_mean")),
    *(("interpolated_quantile", NUMBERS, ("v",), parameters) for parameters in (("linear", 0.3), ("midpoint", 0.5), ("nearest", (0.5, 0.7)))),
    *(("correlation", NUMBERS, arguments, ()) for arguments in (("v", "by"), ("place", "v"), ("v", "v"))),
    *((name, ORDERED, ("v",), ()) for name in ("min", "max")),
    # Of date-times with offsets a column takes "argmin" and "argmax".
    *((name, (*NUMBERS, "datetime"), ("v",), ()) for name in ("column_min", "column_max")),
    *((name, ORDERED, ("v", carried), ()) for name in ("argmin", "argmax") for carried in ("place", "label")),
    *((name, ORDERED, ("v", "place"), ()) for name in ("argmin_row", "argmax_row")),
    *((name, ("vector",), ("v",), ()) for name in ("column_vector_sum", "column_vector_mean")),
    ("column_ndarray_mean", ("ndarray",), ("v",), ()),
    ("quantile", NUMBERS, ("v",), SHARES),
    ("freq_count", ("int", "str"), ("v",), ()),
    ("count_runs", (*ORDERED, "str"), ("v",), ()),
    ("summary", ("str", "datetime"), ("v",), ()),
    *((name, NUMBERS, ("v",), parameters) for name, parameters in (("key_counts", (0, 2**64 - 1)), ("keys_between", (2**63, 2**64 - 1)))),
    ("histogram", ("float",), ("by",), (-20, 0.1, 40)),
    ("bin_ranges", NUMBERS, ("by", "v"), (-20, 0.1, 40)),
    ("label_counts", ("str",), ("v",), (("b", None, "nowhere"),)),
    ("label_counts", ("str",), ("v", "label"), (("b", None, "a"), ("a", "b"))),
    ("label_histograms", ("str",), ("v", "by"), (("b", None, "a"), ((-20, 0.1, 40),) * 3)),
    ("label_ranges", NUMBERS, ("label", "v"), ("b", None, "a")),
    ("item_kinds", ("dict", "encoded dict"), ("v",), ()),
]


class Request(NamedTuple):
    """An aggregate of one type of values."""

    kind: str
    name: str
    arguments: tuple[str, ...]
    parameters: tuple[Any, ...]

    @property
    def aggregation(self) -> Aggregation:
        return Aggregation(self.name, tuple(POSITIONS[argument] for argument in self.arguments), self.parameters)

    def __str__(self) -> str:
        freedom = [str(each) for each in self.parameters] if self.name in OF_PARAMETERS or self.name in ("column_var", "column_std") else []
        return "-".join([self.name, *freedom, *(each for each in self.arguments if each != "v"), self.kind.replace(" ", "-")])


REQUESTS = [Request(kind, name, arguments, parameters) for name, kinds, arguments, parameters in TAKEN for kind in kinds]
FAMILIES = ("cumulative", "rolling")
MODELS: dict[str, Callable[..., Any]] = {
    "count": lambda values, rules: len(values),
    "count_missing": lambda values, rules: len(values) - len(model.present(values)),
    "count_values": lambda values, rules: len(model.present(values)),
    "first_known": lambda values, rules: model.edge_of(values, None, False, True),
    "last": lambda values, rules: model.edge_of(values, None, True, False),
    "last_known": lambda values, rules: model.edge_of(values, None, True, True),
    "first_known_by": lambda by, values, rules: model.edge_of(values, by, False, True),
    "last_by": lambda by, values, rules: model.edge_of(values, by, True, False),
    "last_known_by": lambda by, values, rules: model.edge_of(values, by, True, True),
    "weighted_mean": lambda values, weights, rules: model.weighted_mean_of(values, weights),
    "weighted_correlation": lambda values, others, weights, rules: model.weighted_correlation_of(values, others, weights),
    "dot_product": lambda values, others, rules: model.dot_product_of(values, others),
    "geometric_mean": lambda values, rules: model.geometric_mean_of(values),
    "count_distinct": lambda values, rules: len(model.distinct_of(values, rules)),
    "count_runs": model.runs_of,
    "distinct": model.distinct_of,
    "select_one": lambda values, rules: values[0] if values else None,
    "freq_count": model.freq_count_of,
    "finite_range": model.finite_range_of,
    "sum": model.sum_of,
    "mean": model.mean_of,
    "var": model.var_of,
    "std": model.std_of,
    "skewness": model.skewness_of,
    "correlation": model.correlation_of,
    "min": partial(model.extreme_of, largest=False),
    "max": partial(model.extreme_of, largest=True),
    **{f"{family}_{name}": getattr(model, f"{name}_of") for family in FAMILIES for name in ("sum", "mean", "var", "std")},
    **{f"{family}_{name}": partial(model.extreme_of, largest=name == "max") for family in FAMILIES for name in ("min", "max")},
    "rolling_stdv": model.std_of,
    "argmin": partial(model.at_extreme, largest=False),
    "argmax": partial(model.at_extreme, largest=True),
}


# The models of aggregates with parameters.
OF_PARAMETERS: dict[str, Callable[..., Any]] = {
    "quantile": lambda values, *shares: model.quantile_of(values, shares),
    "kurtosis": model.kurtosis_of,
    "moment": model.moment_of,
    "covariance": model.covariance_of,
    "weighted_covariance": model.weighted_covariance_of,
    "linear_regression": lambda *arguments: model.regression_of(*arguments[:-2], names=arguments[-2], is_weighted=arguments[-1]),
    "zscore": model.zscore_of,
    "interpolated_quantile": lambda values, way, shares: (
        model.interpolated_of(values, way, shares)
        if isinstance(shares, float)
        else array.array("d", [model.interpolated_of(values, way, share) for share in shares])
        if model.present(values)
        else None
    ),
    "skewness": lambda values, bias: model.sample_skewness_of(values),
    "var": model.sample_var_of,
    "std": model.sample_std_of,
}


def rules_of(form: str, kind: str) -> Rules:
    rules = RULES.get(f"{form} of {kind}s", RULES.get(form, (Rules(), "")))[0]
    return replace(rules, none=ZEROS[kind]) if rules.none == "zero" else rules


def modelled(form: str, kind: str, arguments: Sequence[Values], parameters: tuple[Any, ...] = ()) -> Any:
    """The value of a form of an aggregate."""
    name, rules = form.removeprefix("column_").removeprefix("vector_").removeprefix("ndarray_").removesuffix("_row"), rules_of(form, kind)
    if name == "concat":
        found = model.dict_of(*arguments, rules) if len(arguments) == 2 else model.list_of(*arguments, rules)
        return array.array("d", found) if kind == "float" and len(arguments) == 1 else found
    if form == "product":
        return model.product_of(arguments[0]) * (1.0 if kind == "float" else 1)
    if form in OF_PARAMETERS and parameters:
        return OF_PARAMETERS[form](*arguments, *parameters)
    if form in ("column_var", "column_std"):
        rules = replace(rules, ddof=parameters[0])
    return MODELS[name](*arguments, rules)


def arguments_of(request: Request, case: int, rows: Sequence[int]) -> list[list[Any]]:
    """The values of the arguments in some rows of a case."""
    columns = {"v": COLUMNS[request.kind][case], "place": range(1_000), "by": BY, "label": LABEL}
    return [[columns[argument][row] for row in rows] for argument in request.arguments or ("place",)]


@cache
def expected(request: Request, case: int, rows: tuple[int, ...]) -> Any:
    arguments = arguments_of(request, case, rows)
    if request.name not in CHARTS:
        return modelled(request.name, request.kind, arguments, request.parameters)
    types = [{"v": TYPES[request.kind], "place": INT, "by": FLOAT, "label": STR}[argument] for argument in request.arguments]
    chunk, _ = drivers.table(list(zip(arguments, types, strict=True)))
    return drivers.of_all_rows(request.name, chunk.columns, types, request.parameters)


# A driver is named by what it gives a row for: a case, a row, a window around a row.
Unit = tuple[int, tuple[int, ...]]


def units_of(driver: str, kind: str, left_out: frozenset[int]) -> tuple[list[tuple[int, int]], list[Unit]]:
    """Rows of a table, as case and place in it, and which rows of which case are in each row of the result."""
    sizes = {case: len(values) for case, values in enumerate(COLUMNS[kind]) if case not in left_out}
    rows = [(case, place) for case, size in sizes.items() for place in range(size)]
    if driver != "runs":
        rows.sort(key=lambda row: (row[1], row[0]))
    if driver in ("groups", "runs"):
        return rows, [(case, tuple(range(size))) for case, size in sizes.items() if size]
    if driver == "running":
        return rows, [(case, tuple(range(place + 1))) for case, place in rows]
    before, after = WINDOWS[int(driver[-1])]
    return rows, [(case, tuple(range(max(place - before, 0), min(place + after + 1, sizes[case])))) for case, place in rows]


DRIVERS: dict[str, Callable[..., drivers.Found]] = {
    "groups": drivers.groups,
    "runs": drivers.runs,
    "running": drivers.running,
    **{f"window-{number}": partial(drivers.windows, before=before, after=after) for number, (before, after) in enumerate(WINDOWS)},
}


def is_refused(request: Request, case: int, rows: tuple[int, ...]) -> bool:
    if request.name in CHARTS:
        return False
    try:
        expected(request, case, rows)
    except Refused:
        return True
    return False


@cache
def left_out(driver: str, request: Request) -> frozenset[int]:
    """The cases that a driver cannot take because some of its results are errors, and those that campaigns take: every second one, by turns."""
    numbers = range(len(COLUMNS[request.kind]))
    left_to_campaigns = frozenset(numbers) - frozenset(by_turns(numbers, 2, list(DRIVERS).index(driver)))
    if request.kind != "ndarray" and request.name not in ("column_var", "column_std", "column_vector_sum", "column_vector_mean"):
        return left_to_campaigns
    return left_to_campaigns | {case for case, rows in units_of(driver, request.kind, frozenset())[1] if is_refused(request, case, rows)}


def columns_of(kind: str, rows: Sequence[tuple[int, int]]) -> list[tuple[list[Any], ColumnType]]:
    """The columns of a table, in the order of their positions."""
    columns: list[tuple[list[Any], ColumnType]] = [([case for case, _ in rows], INT), ([place for _, place in rows], INT)]
    columns.append(([COLUMNS[kind][case][place] for case, place in rows], TYPES[kind]))
    return columns + [([values[place] for _, place in rows], of) for values, of in BESIDE.values()]


@cache
def found(driver: str, kind: str, without: frozenset[int], requests: tuple[Request, ...]) -> tuple[list[Unit], drivers.Found]:
    """The results of a driver, by cut, of several aggregates together: each one's are those that it has alone."""
    rows, units = units_of(driver, kind, without)
    cuts = by_turns(drivers.CUTS, 2, list(TYPES).index(kind))
    return units, DRIVERS[driver](drivers.table(columns_of(kind, rows)), [request.aggregation for request in requests], cuts=cuts)


# What campaigns run. The normal run takes each aggregate of a type by every second or third driver, by turns, so that pairs are met: driver and type,
# aggregate and type, and driver and aggregate, if this takes several types.
LEFT_TO_CAMPAIGNS = {
    (driver, Request(kind, name, arguments, parameters))
    for number, (name, kinds, arguments, parameters) in enumerate(TAKEN)
    for place, kind in enumerate(kinds)
    for turn, driver in enumerate(DRIVERS)
    if (number + place + turn) % min(len(kinds) + 1, 3)
}


def results(driver: str, request: Request) -> Iterator[tuple[str, Unit, Any]]:
    """Cut, rows and value of each result of an aggregate."""
    without, is_left = left_out(driver, request), (driver, request) in LEFT_TO_CAMPAIGNS
    of_kind = [other for other in REQUESTS if other.kind == request.kind and ((driver, other) in LEFT_TO_CAMPAIGNS) == is_left]
    together = tuple(other for other in of_kind if left_out(driver, other) == without)
    units, ways = found(driver, request.kind, without, together)
    for way, columns in ways.items():
        yield from ((way, unit, value) for unit, value in zip(units, columns[together.index(request)], strict=True))


def plain(value: Any) -> Any:
    """Text that is the same for values of equal bytes: -0.0 is not 0.0, and a dict has an order."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, (list, array.array)):
        return type(value).__name__, [plain(item) for item in value]
    if isinstance(value, dict):
        return "dict", [(plain(key), plain(item)) for key, item in value.items()]
    return repr(value)


# Relative errors that are allowed: spreads are two steps of rounding away, the others nothing.
SLACK = dict.fromkeys(("var", "std", "column_var", "column_std", "cumulative_var", "cumulative_std", "rolling_var", "rolling_stdv"), 1e-15)
SLACK |= dict.fromkeys(("skewness", "correlation", "weighted_correlation", "zscore"), 5e-16)
SLACK |= dict.fromkeys(("kurtosis", "moment", "covariance", "weighted_mean", "weighted_covariance", "product"), 2.3e-16)
SLACK |= {"geometric_mean": 1e-15, "linear_regression": 1e-14}
SLACK |= dict.fromkeys(("finite_range", "label_ranges", "bin_ranges"), 1e-15)


def agree(form: str, got: Any, wanted: Any) -> bool:
    return plain(got) == plain(wanted) or (form in SLACK and same(got, wanted, SLACK[form]))


def has_results(driver: str, request: Request) -> bool:
    """Whether not every case is an error: a first row alone has no variance with ``ddof=1``."""
    return request.parameters != (1,) or not request.name.startswith("column_") or driver in ("groups", "runs", "window-1")


def by_driver(driver: str, request: Request) -> list[Any]:
    """The test of an aggregate by a driver, if there is one."""
    marks = [pytest.mark.campaign] * ((driver, request) in LEFT_TO_CAMPAIGNS)
    return [pytest.param(driver, request, id=f"{driver}-{request}", marks=marks)] if has_results(driver, request) else []


@pytest.mark.parametrize(("driver", "request_"), [test for driver in DRIVERS for request in REQUESTS for test in by_driver(driver, request)])
def test_an_aggregate_by_a_driver(driver: str, request_: Request) -> None:
    wrong, first = [], {}
    for way, (case, rows), got in results(driver, request_):
        values, unit = arguments_of(request_, case, rows)[0], (case, *rows)
        if unit not in first:
            wanted, first[unit] = expected(request_, case, rows), got
            if not agree(request_.name, got, wanted):
                wrong.append(f"{way}: of {values} {got}, not {wanted}")
        elif plain(first[unit]) != plain(got):
            wrong.append(f"{way}: of {values} {got}, and {first[unit]} in another cut")
    assert first and not wrong


def whole_case(request: Request, case: int) -> drivers.Table:
    return drivers.table(columns_of(request.kind, [(case, place) for place in range(len(COLUMNS[request.kind][case]))]))


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_an_aggregate_of_a_whole_column(request_: Request) -> None:
    wrong = []
    cases = by_turns(list(enumerate(COLUMNS[request_.kind])), 3, REQUESTS.index(request_))
    for case, values in cases:
        rows, cuts = tuple(range(len(values))), by_turns(drivers.CUTS, 2, case)
        if is_refused(request_, case, rows):
            with pytest.raises(SFrameError):
                drivers.whole(whole_case(request_, case), [request_.aggregation])
            for cut in cuts:
                with pytest.raises(SFrameError):
                    drivers.from_parts(whole_case(request_, case), request_.aggregation, cut)
            continue
        wanted = expected(request_, case, rows)
        ways = drivers.whole(whole_case(request_, case), [request_.aggregation], cuts)
        wrong += [f"{way}: of {values} {got}, not {wanted}" for way, ((got,),) in ways.items() if not agree(request_.name, got, wanted)]
        if len({str(plain(got)) for ((got,),) in ways.values()}) != 1:
            wrong.append(f"of {values} {ways}")
    assert cases and not wrong


@pytest.mark.parametrize("request_", [request for request in REQUESTS if not is_refused(request, 0, ())], ids=str)
def test_an_aggregate_of_a_window_without_rows(request_: Request) -> None:
    (got,) = drivers.nothing(whole_case(request_, 0)[1], [request_.aggregation])
    assert agree(request_.name, got, expected(request_, 0, ()))


CUMULATIVE = [(f"cumulative_{what}", kind) for what in ("sum", "mean", "min", "max", "var", "std") for kind in NUMBERS]
CUMULATIVE += [(f"cumulative_{what}", "vector") for what in ("sum", "mean")]
CUMULATIVE += [(f"cumulative_{what}", kind) for what in ("min", "max") for kind in ("datetime", "zoned")]
ROLLING = [(form.replace("cumulative", "rolling").replace("std", "stdv"), kind) for form, kind in CUMULATIVE]
ROLLING += [("rolling_count", kind) for kind in TYPES]
# First and last row of a window, and how many values it must have.
ROLLS = ((-1, 0, None), (-1, 0, 1), (-2, 0, 2), (1, 2, 1), (-9, 9, 1))


def rolled(form: str, kind: str, window: Values, least: int | None) -> Any:
    """What a window has; with ``least`` no observation, sums and spreads of none are 0."""
    count = len(model.present(window))
    if form == "rolling_count":
        return count
    if least == 0 and not count and form.split("_")[1] in ("sum", "var", "stdv"):
        return ZEROS[kind] if form == "rolling_sum" else 0.0
    enough = count >= (len(window) if least is None else max(least, 1))
    return modelled(form, kind, [window]) if enough else None


def column_of(values: Values, kind: str) -> SArray:
    chunk, schema = drivers.table([(values, TYPES[kind])])
    return SArray(_node=memory_source(list(chunk.columns), schema, len(values)))


def compared(form: str, windows: list[Values], wanted: list[Any], ways: dict[str, list[Any]]) -> list[str]:
    """What is wrong in the rows."""
    wrong, rows = [], range(len(windows))
    for way, got in ways.items():
        wrong += [f"{way}: of {windows[row]} {got[row]}, not {wanted[row]}" for row in rows if not agree(form, got[row], wanted[row])]
    if any(len({str(plain(got[row])) for got in ways.values()}) > 1 for row in rows):
        wrong.append(f"cuts differ: {ways}")
    return wrong


@pytest.mark.parametrize(("form", "kind"), CUMULATIVE)
def test_cumulative(form: str, kind: str) -> None:
    wrong, what = [], form.removeprefix("cumulative_")
    for values in by_turns(COLUMNS[kind], 2, CUMULATIVE.index((form, kind))):
        windows = [values[: row + 1] for row in range(len(values))]
        try:
            wanted = [modelled(form, kind, [window]) for window in windows]
        except Refused:
            with pytest.raises(SFrameError):
                drivers.cumulative(values, TYPES[kind], what)
            continue
        ways = drivers.cumulative(values, TYPES[kind], what)
        wrong += compared(form, windows, wanted, ways)
    assert not wrong


@pytest.mark.parametrize(("form", "kind"), ROLLING)
def test_rolling(form: str, kind: str) -> None:
    wrong, what = [], form.removeprefix("rolling_")
    for turn, (first, last, least) in enumerate(ROLLS if what != "count" else ((-1, 0, None), (0, 2, None))):
        for case, values in by_turns(list(enumerate(COLUMNS[kind])), 3, turn + ROLLING.index((form, kind))):
            windows = model.windows_of(values, first, last)
            wanted = [rolled(form, kind, window, least) for window in windows]
            ways = drivers.rolling(values, TYPES[kind], what, first, last, least, by_turns(drivers.CUTS, 2, turn + case))
            wrong += compared(form, windows, wanted, ways)
    assert not wrong


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("form", ["rolling_sum", "rolling_var", "rolling_stdv"])
def test_rolling_over_no_observation(form: str, kind: str) -> None:
    for values in ([], [None], [None, 3, None, None], [1, None]):
        numbers = [value if value is None else type(ZEROS[kind])(value) for value in values]
        got = list(getattr(column_of(numbers, kind), form)(-1, 0, 0))
        assert plain(got) == plain([rolled(form, kind, window, 0) for window in model.windows_of(numbers, -1, 0)])


# The rules are the reference's.

FACTS = load_facts("aggregates/drivers.json")
SPREADS = ("var", "std", "stdv")


def is_tame(values: Values) -> bool:
    """Whether adding up in floats, in any order, gives nearly the exact sum."""
    numbers = [number for value in model.present(values) for number in (value if isinstance(value, array.array) else [value])]
    return all(math.isfinite(number) and (number == 0 or 1e-3 < abs(number) < 1e6) for number in numbers)


def is_open(form: str, kind: str, values: Values) -> bool:
    """Where the reference's result depends on threads, or a deviation is documented: infinities, exact sums, the spread of NaN."""
    numbers = model.present(values)
    family, what = form.split("_")[:2]
    if what in SPREADS and any(map(model.is_nan, numbers)):
        return family in ("cumulative", "rolling") or len(numbers) == 1
    if what in ("sum", "mean", *SPREADS) and (kind, what) != ("int", "sum"):
        return not is_tame([number for number in numbers if not model.is_nan(number)])
    if what in ("argmin", "argmax"):
        ranks = [model.instant(number) if kind in ("datetime", "zoned") else number for number in numbers]
        return len(set(ranks)) < len(ranks) or any(map(model.is_nan, numbers)) or values[:1] == [None]
    if what == "quantile" or (family == "group" and what in ("min", "max")):
        return any(map(model.is_nan, numbers)) or (kind == "zoned" and has_equal_instants(values))
    # Of NaN and infinities alone, the greatest of all floats.
    return family == "column" and what in ("min", "max") and kind == "float" and not any(map(math.isfinite, numbers))


def by_the_rules(fact: str, kind: str, values: Values) -> tuple[list[Values], list[Any]]:
    """What each result of a fact is of, and what it is by the rules."""
    family, what, *more = fact.split("_")
    if family == "cumulative":
        windows = [values[: row + 1] for row in range(len(values))]
        return windows, [modelled(fact, kind, [window]) for window in windows]
    if family == "rolling":
        windows = model.windows_of(values, -1, 0)
        least = None if not more or more == ["None"] else int(more[0])
        return windows, [rolled(f"rolling_{what}", kind, window, least) for window in windows]
    places = list(range(len(values)))
    if what.startswith("arg"):
        return [values], [modelled(f"{what}_row" if family == "column" else what, kind, [values, places])]
    if family == "group":
        name = fact.removeprefix("group_")
        return [values], [modelled(name, kind, [values], (0.0, 0.5, 1.0) if name == "quantile" else ())]
    name = f"column_{what}" if what in ("min", "max", *SPREADS) else f"column_vector_{what}" if kind == "vector" else what
    return [values], [modelled(name, kind, [values], tuple(map(int, more)) or (0,))]


@pytest.mark.parametrize("fact", FACTS)
def test_the_rules_are_those_of_the_reference(fact: str) -> None:
    form, kind = fact.split(": ")
    wrong, known = [], 0
    for values, told in zip(COLUMNS[kind], FACTS[fact], strict=True):
        is_error = isinstance(told, dict) and "error" in told
        if form.startswith("group") and not values:
            continue
        try:
            windows, wanted = by_the_rules(form, kind, values)
        except Refused:
            known += 1
            wrong += [] if is_error else [f"of {values} {told}, not an error"]
            continue
        if is_error:
            wrong += [] if all(is_open(form, kind, window) for window in windows) else [f"of {values} {told}, not {wanted}"]
            continue
        results = from_fact(told) if form.startswith(("cumulative", "rolling")) else [from_fact(told)]
        for window, theirs, ours in zip(windows, results, wanted, strict=True):
            if is_open(form, kind, window):
                continue
            known += 1
            if not same(theirs, ours, 1e-12):
                wrong.append(f"of {window} {theirs}, not {ours}")
    assert known and not wrong


# What users write, and what plug-ins declare.

NAMED = {
    "SUM": "sum", "MEAN": "mean", "AVG": "mean", "MIN": "min", "MAX": "max", "VAR": "var", "VARIANCE": "var", "STD": "std", "STDV": "std",
    "COUNT_DISTINCT": "count_distinct", "DISTINCT": "distinct", "SELECT_ONE": "select_one", "FREQ_COUNT": "freq_count", "CONCAT": "concat",
    "ARGMIN": "argmin", "ARGMAX": "argmax", "QUANTILE": "quantile", "COUNT": "count",
    "SKEWNESS": "skewness", "CORRELATION": "correlation", "KURTOSIS": "kurtosis", "MOMENT": "moment", "COVARIANCE": "covariance",
    "WEIGHTED_MEAN": "weighted_mean", "WEIGHTED_COVARIANCE": "weighted_covariance", "WEIGHTED_CORRELATION": "weighted_correlation",
    "DOT_PRODUCT": "dot_product", "LINEAR_REGRESSION": "linear_regression", "ZSCORE": "zscore", "PRODUCT": "product",
    "GEOMETRIC_MEAN": "geometric_mean", "MEDIAN": "interpolated_quantile", "FIRST": "select_one", "LAST": "last",
}  # fmt: skip
METHODS = {
    "sum": "sum", "mean": "mean", "min": "column_min", "max": "column_max", "var": "column_var", "std": "column_std",
    "argmin": "argmin_row", "argmax": "argmax_row", "countna": "count_missing",
}  # fmt: skip


def test_every_built_in_aggregate_is_here() -> None:
    names = {name for name, function in AGGREGATES.items() if is_builtin(function.infer)}
    assert {request.name for request in REQUESTS} == names
    assert set(aggregate.__all__) == set(NAMED) and set(NAMED.values()) < names
    assert names <= {*RULES, *RULELESS, *CHARTS}


def test_users_names_are_those_of_the_table() -> None:
    arguments = {"COUNT": (), "QUANTILE": ("v", 0.5), "MOMENT": ("v", 2)}
    arguments |= dict.fromkeys(("ARGMIN", "ARGMAX", "CORRELATION", "COVARIANCE", "DOT_PRODUCT", "WEIGHTED_MEAN", "LINEAR_REGRESSION"), ("v", "v"))
    arguments |= dict.fromkeys(("WEIGHTED_COVARIANCE", "WEIGHTED_CORRELATION"), ("v", "v", "v"))
    for name, function in NAMED.items():
        assert getattr(aggregate, name)(*arguments.get(name, ("v",))).name == function


@pytest.mark.parametrize(("method", "kind"), [*itertools.product(METHODS, ("int", "float")), ("min", "zoned"), ("max", "zoned")])
def test_methods_of_columns(method: str, kind: str) -> None:
    for values in COLUMNS[kind]:
        name, column = METHODS[method], column_of(values, kind)
        if method.startswith("arg") and values and not model.present(values):
            with pytest.raises(TypeError):
                getattr(column, method)()
            continue
        wanted = modelled(name, kind, [values, range(len(values))] if method.startswith("arg") else [values], (0,))
        assert agree(name, getattr(column, method)(), wanted)


def defined_by_parts(name: str) -> tuple[str, list[int]]:
    """A plug-in's count of values from parts, and a list that gets the rows of each part that is lifted."""
    lifted: list[int] = []

    def lift(arrays: Sequence[Any], rows: int, types: Any, parameters: Any) -> int:
        lifted.append(rows)
        return rows - arrays[0].null_count

    parts = Decomposition(lift, lambda first, second, types: first + second, lambda part, types, parameters: part)
    define_aggregate(name, lambda types, parameters: INT, parts=parts)
    return name, lifted


@pytest.mark.usefixtures("own_registry")
def test_a_plug_in_by_every_driver() -> None:
    name, _ = defined_by_parts("matrix_values")
    request = Request("float", name, ("v",), ())
    for driver in DRIVERS:
        units, ways = found(driver, "float", frozenset(), (request,))
        for way, (got,) in ways.items():
            assert got == [len(model.present(arguments_of(request, case, rows)[0])) for case, rows in units], (driver, way)


@pytest.mark.usefixtures("own_registry")
def test_groups_use_the_parts_of_a_plug_in() -> None:
    name, lifted = defined_by_parts("matrix_parts")
    data = drivers.table([([1, 1, 2, 2], INT), ([1.0, None, 2.0, 3.0], FLOAT)])
    operator, facts = GroupBy((0,), (Aggregation(name, (1,)),)), drivers.facts_of(data[1])
    assert operator.decomposes(facts)
    operator.rows_from(operator.part_of(data[0], facts), facts)
    assert lifted == [2, 2]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["float", "int", "zoned", "vector"])
def test_groups_on_spark(kind: str) -> None:
    """One query for all aggregates of a type."""
    requests = [request for request in REQUESTS if request.kind == kind and request.name in NAMED.values()]
    rows, units = units_of("groups", kind, frozenset())
    chunk, schema = drivers.table(columns_of(kind, rows))
    node = group_by(memory_source(list(chunk.columns), schema, chunk.rows), [0], [request.aggregation for request in requests])
    got = list(zip(*sorted(run_lowering(node, 3), key=lambda row: row[0]), strict=True))[1:]
    wrong = []
    for request, column in zip(requests, got, strict=True):
        for (case, places), value in zip(units, column, strict=True):
            wanted = expected(request, case, places)
            if not agree(request.name, value, wanted):
                wrong.append(f"{request}: of {arguments_of(request, case, places)} {value}, not {wanted}")
    assert not wrong


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["float", "zoned"])
@pytest.mark.parametrize("operator", [Cumulative("min"), Cumulative("max"), Rolling("min", -2, 0, 1), Rolling("max", -1, 1)])
def test_extremes_of_rows_so_far_and_of_windows_on_spark(operator: Any, kind: str) -> None:
    """NaN counts where it is first, and the first of date-times at one instant, as in the kernel."""
    for values in ([value for case in COLUMNS[kind] for value in case], [*COLUMNS[kind][-1], *COLUMNS[kind][0]]):
        chunk, schema = drivers.table([(values, TYPES[kind])])
        node = operator.make_planner_node(memory_source(list(chunk.columns), schema, len(values)))
        wanted = decode(operator.kernel([chunk], drivers.facts_of(schema)).columns[0], node.schema[0])
        assert [plain(value) for (value,) in run_lowering(node, 3)] == [plain(value) for value in wanted]
