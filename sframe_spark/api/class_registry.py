"""How the classes SFrame and SArray and their mixins find each other.

The mixins cannot import the classes, because these inherit from them. At run time, SFrame and SArray register themselves here. For annotations, the
mixins import the class names from this module, the only one below the classes that imports them.

The class statements name all mixins. Those that are imported lazily (:mod:`sframe_spark.lazy_imports`) become base classes when one of their members
is first used: until then, the class has a :class:`MemberOnFirstUse` for each name in the table. A test checks the table.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from sframe_spark.lazy_imports import LazyName
from sframe_spark.process.fork_safety import keep_whole_at_fork

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.api.sframe import SFrame
    from sframe_spark.planner.node import PlannerNode
    from sframe_spark.plotting.plot_class_and_chart_choice import Plot
    from sframe_spark.plotting.summary import ColumnFacts, FrameSummary
else:
    # Annotations are not evaluated, so they need the names only.
    ColumnFacts = FrameSummary = Plot = SArray = SFrame = Any

__all__ = ["ClassRegistry", "ColumnFacts", "FrameSummary", "Plot", "SArray", "SFrame", "make_array", "make_frame"]


class _ImportsClasses(type):
    """Imports a class that is not registered yet: a program may have used the other one alone."""

    def __getattr__(cls, name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(name)
        importlib.import_module(_PLACES[name])
        return vars(cls)[name]


# Where the classes are, which this module does not import, as they import it.
_PLACES = {"array": "sframe_spark.api.sarray.sarray", "frame": "sframe_spark.api.sframe.sframe"}


class ClassRegistry(metaclass=_ImportsClasses):
    """The classes SArray and SFrame; each registers itself here after its definition."""

    array: ClassVar[type[SArray]]
    frame: ClassVar[type[SFrame]]


def make_array(node: PlannerNode, typed_by_values: bool = False) -> SArray:
    """Return an SArray of a one-column node. With ``typed_by_values``, its ``dtype`` is unknown while all values are missing."""
    return ClassRegistry.array(_node=node, _typed_by_values=typed_by_values)


def make_frame(node: PlannerNode, names: Sequence[str]) -> SFrame:
    """Return an SFrame of a node, with names for its columns."""
    return ClassRegistry.frame(_node=node, _names=names)


# By the name of a mixin, the names that it gives to the class.
MEMBERS: Mapping[str, str] = {
    "Reshaping": (
        "stack unstack _types_of_items _type_of_items unpack split_datetime pack_columns _packed_columns _require_numbers "
        "_named_position _only_packed _with_parts"
    ),
    "RowFunctions": "apply _first_dicts flat_map _flat_map_types",
    "MissingValues": "fillna dropna dropna_split _missing_mask",
    "TimeGroups": (
        "groupby_cycles groupby_runs add_columns_by_cycle _cycle_sample _time_position _key_positions _group_aggregates "
        "groupby_intervals resample uniform_clock _clock_position"
    ),
    "TimeLines": (
        "sessions describe_time rank rolling_rank qcut _sorting_keys fill_forward fill_backward _filled interpolate shift diff "
        "pct_change _with_lags _columns_to_use _rolling_by_key _cumulative_by_key rolling_mean rolling_sum rolling_max rolling_min "
        "rolling_var rolling_stdv rolling_count cumulative_sum cumulative_mean cumulative_max cumulative_min cumulative_std "
        "cumulative_var cumulative_product running _running_keys exponential_smoothing"
    ),
    "NearRows": "asof_join _asof_matches window _window_of_rows",
    "CalendarColumns": "floor_time shift_time",
    "IntervalJoins": "join_between join_overlapping events _group_positions _check_groups _joined_intervals",
    "IntervalSets": "merge_intervals disjoint_intervals _interval_names _whole_intervals",
    "Joins": "join _join_keys merge_sorted",
    "FramePlotting": "plot summary_page show explore _facts _badges",
    "RowOrder": "is_sorted ordering assume_sorted _with_claimed_orders _check_order",
    "Relational": (
        "sort _order _check_sortable topk unique drop_duplicates groupby _group_key _aggregates _aggregation append __add__ "
        "_with_same_columns filter_by sample random_split shuffle"
    ),
    "Interchange": (
        "to_arrow __arrow_c_schema__ __arrow_c_stream__ __dataframe__ __narwhals_dataframe__ to_pandas to_dataframe to_numpy __array__ "
        "_rows_for_numpy to_spark register_view from_pandas from_arrow from_polars from_spark"
    ),
    "FilesOfAnyKind": "read write",
    "FrameFiles": (
        "save checkpoint _save_reference export_json read_json write_parquet write_orc read_parquet read_orc read_delta read_iceberg "
        "export_csv read_csv read_csv_with_errors"
    ),
    "FrameDatabases": "from_sql to_sql read_jdbc write_jdbc from_table to_table",
    "FrameMaterialization": "materialize is_materialized explain last_run",
    "RowAccess": "_recent _recent_rows _cached_row __is_materialized__ __has_size__",
    "NumpyDispatch": "__array_ufunc__ __array_function__",
    "Pickled": "_is_evaluated_when_pickled __reduce_ex__",
    "Arithmetic": (
        "_binary __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __mod__ "
        "__rmod__ __pow__ __rpow__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __hash__ __and__ __or__ __xor__ __rand__ __ror__ __neg__ "
        "__pos__ __abs__ __invert__ abs where _class_of_values _operand"
    ),
    "Mathematics": (
        "exp exp2 expm1 log log2 log10 log1p sqrt cbrt square reciprocal sign floor ceil trunc sin cos tan arcsin arccos arctan sinh "
        "cosh tanh arcsinh arccosh arctanh degrees radians isnan isinf isfinite round __round__"
    ),
    "Reductions": (
        "_reduce _extreme sum mean _mean_of_images _total min max std var _spread any all nnz countna __contains__ argmax argmin "
        "_extreme_row summary quantile product geometric_mean skewness kurtosis correlation autocorrelation covariance "
        "_of_request median __len__"
    ),
    "Selection": "filter filter_by sort is_topk unique value_counts _counted _require_no_dicts sample random_split shuffle random_integers",
    "Cleaning": "_function dropna fillna clip clip_lower clip_upper astype is_in _is_one_of contains hash item_length pixel_array_to_image",
    "Windows": (
        "_cumulative _rolling cumulative_sum cumulative_mean cumulative_min cumulative_max cumulative_std cumulative_var "
        "cumulative_product rolling_mean rolling_sum rolling_max rolling_min rolling_var rolling_stdv rolling_count shift diff "
        "pct_change rank rolling_rank cut qcut fill_forward fill_backward interpolate"
    ),
    "Items": (
        "dict_keys dict_values dict_has_any_keys dict_has_all_keys dict_trim_by_keys dict_trim_by_values vector_slice element_slice "
        "str_pad stack unpack"
    ),
    "DateTimes": "datetime_to_str str_to_datetime split_datetime date_range",
    "Dates": "dt",
    "ZonesAndCalendars": "in_zone from_zone floor_time",
    "Texts": "str",
    "ColumnPlotting": "_label plot show explore",
    "ColumnFiles": "save checkpoint read_json",
    "ColumnMaterialization": (
        "materialize is_materialized __get_content_identifier__ explain last_run to_numpy __array__ _as_array to_arrow "
        "__arrow_c_schema__ __arrow_c_stream__ __narwhals_series__"
    ),
}

# Guards base classes, as two threads may use members first at the same time.
_LOCK = threading.RLock()
keep_whole_at_fork(_LOCK, "members")


class MemberOnFirstUse:
    """A member that a class has as soon as the mixin is its base class.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame({"a": [2, 1]}).sort("a")["a"].to_numpy()
    array([1, 2])
    """

    __slots__ = ("name", "owner", "provide")

    def __init__(self, owner: type[Any], name: str, provide: Callable[[], None]) -> None:
        self.owner, self.name, self.provide = owner, name, provide

    def __get__(self, instance: object, kind: type[Any] | None = None) -> Any:
        self.provide()
        # Not by getattr: a subclass of a user may have a member of this name, and ask for this one by `super()`.
        member = next(vars(base)[self.name] for base in self.owner.__mro__ if self.name in vars(base))
        return member.__get__(instance, kind) if hasattr(member, "__get__") else member

    def __set__(self, instance: object, value: object) -> None:
        self.provide()
        object.__setattr__(instance, self.name, value)


def add_members(owner: type[Any], adopt: Callable[[type[Any]], None]) -> None:
    """Give a class the members of its base classes that are not imported yet; ``adopt`` prepares a base class when it is."""
    bases = list(vars(owner).get("__orig_bases__", ()))

    def provide(position: int) -> None:
        """Make a mixin a base class, in the place that the class statement gives it, unless it is one."""
        with _LOCK:
            if isinstance(base := bases[position], LazyName):
                adopt(mixin := base.value())
                bases[position] = mixin
                owner.__bases__ = tuple(kind for kind in bases if not isinstance(kind, LazyName))
                for name in MEMBERS[base.name].split():
                    if isinstance(vars(owner).get(name), MemberOnFirstUse):
                        delattr(owner, name)

    for position, base in enumerate(bases):
        for name in MEMBERS[base.name].split() if isinstance(base, LazyName) else ():
            # A member of the class itself takes precedence over that of a mixin.
            if name not in vars(owner):
                setattr(owner, name, MemberOnFirstUse(owner, name, partial(provide, position)))
