"""The registry of operator classes by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TypeVar

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.node import is_builtin
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.registrations import record

# The kind of its entries in the record of registrations.
OPERATOR = "operator"
_OPERATORS: dict[str, type[Operator]] = {}
OperatorClass = TypeVar("OperatorClass", bound=type[Operator])

# The modules that register this package's operators. A module is imported when one of its operators is looked up, so that the operators that a
# plan may have do not depend on what was imported before.
_OPERATORS_OF_MODULE: Mapping[str, tuple[str, ...]] = {
    "sframe_spark.operators.append": ("append",),
    "sframe_spark.operators.project_zip_arrange": ("arrange", "project", "zip"),
    "sframe_spark.operators.elementwise": ("binary_transform", "generalized_transform", "lambda_transform", "ternary_transform", "transform"),
    "sframe_spark.operators.explode": ("explode",),
    "sframe_spark.operators.flat_map": ("flat_map",),
    "sframe_spark.operators.groupby.user_functions_on_rows_of_equal_time": ("map_cycles",),
    "sframe_spark.operators.groupby.groupby": ("group_by",),
    "sframe_spark.operators.groupby.reduce_to_one_row": ("reduce",),
    "sframe_spark.operators.groupby.resampling": ("assign_intervals", "fill_intervals"),
    "sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys": ("streaming_group_by",),
    "sframe_spark.operators.joins.asof_join": ("asof_join",),
    "sframe_spark.operators.joins.hash_join": ("hash_join",),
    "sframe_spark.operators.joins.equi_join": ("join",),
    "sframe_spark.operators.joins.interpolation": ("interpolation",),
    "sframe_spark.operators.joins.interval_join": ("interval_join",),
    "sframe_spark.operators.joins.key_window_aggregates": ("key_window",),
    "sframe_spark.operators.joins.union_of_sorted_inputs": ("merge_sorted",),
    "sframe_spark.operators.joins.sorted_join": ("sorted_join",),
    "sframe_spark.operators.row_number": ("row_number",),
    "sframe_spark.operators.row_selection": ("filter", "filter_rows", "reverse", "slice"),
    "sframe_spark.operators.sort_top_rows_and_assumed_order": ("assume_order", "sort", "suffix_sort", "top_rows"),
    "sframe_spark.operators.sources.in_memory": ("constant_source", "memory_source", "range_source"),
    "sframe_spark.operators.sources.rows_of_sources": ("scan_parts", "source_parts", "source_rows"),
    "sframe_spark.operators.sources.segment_row_ranges": ("segment_parts",),
    "sframe_spark.operators.sources.base_and_segment_source": ("segment_source",),
    "sframe_spark.operators.sources.spark_frame": ("spark_source",),
    "sframe_spark.operators.window.cumulative": ("cumulative",),
    "sframe_spark.operators.window.filling": ("fill_forward",),
    "sframe_spark.operators.window.lagged": ("lagged",),
    "sframe_spark.operators.window.ranks_of_sorted_rows": ("ranks_of_sorted_rows",),
    "sframe_spark.operators.window.rolling": ("rolling",),
    "sframe_spark.operators.window.rolling_by_key": ("rolling_by_key",),
    "sframe_spark.operators.window.rolling_rank": ("rolling_rank",),
    "sframe_spark.operators.window.running_by_group": ("running",),
    "sframe_spark.operators.window.session_numbers": ("session_numbers",),
    "sframe_spark.operators.window.shift": ("shift",),
    "sframe_spark.operators.window.smoothing": ("exponential_smoothing",),
    "sframe_spark.turicreate.source": ("archive_source",),
}
BUILTIN_MODULES = {name: module for module, names in _OPERATORS_OF_MODULE.items() for name in names}


def register(operator_class: OperatorClass) -> OperatorClass:
    """Class decorator that registers an operator class under its ``name``.

    Raises
    ------
    PlanInvariantError
        If the class has no name, another class has the name, it is not a frozen attrs class, or ``has_kernel`` contradicts its methods.

    Examples
    --------
    >>> import attrs
    >>> from typing import ClassVar
    >>> from sframe_spark.plugin import Operator
    >>> @attrs.frozen
    ... class Unnamed(Operator):
    ...     pass
    >>> register(Unnamed)
    Traceback (most recent call last):
    sframe_spark.errors.PlanInvariantError: Unnamed needs a class attribute 'name' to be registered
    """
    if not isinstance(operator_class, type):
        raise PlanInvariantError(f"@register is for classes of operators, but {operator_class!r:.80} is not one")
    name = getattr(operator_class, "name", None)
    if not name:
        raise PlanInvariantError(f"{operator_class.__qualname__} needs a class attribute 'name' to be registered")
    if "__attrs_attrs__" not in vars(operator_class):
        # Nodes are compared, hashed and written by attrs fields.
        raise PlanInvariantError(
            f"the operator class {operator_class.__qualname__} is not frozen: decorate it with @attrs.frozen, between @register and the class"
        )
    _require_flag(operator_class)
    is_of_package = is_builtin(operator_class)
    # A built-in operator has its name before its module is imported.
    holder = _OPERATORS.get(name) if is_of_package or name not in BUILTIN_MODULES else planner_node_name_to_type(name)
    # Reloading a module defines its classes again, with the same names.
    if holder is not None and (holder.__module__, holder.__qualname__) != (operator_class.__module__, operator_class.__qualname__):
        raise PlanInvariantError(f"the operator name {name!r} is taken by {holder.__module__}.{holder.__qualname__}")
    _OPERATORS[name] = operator_class
    if not is_of_package:
        record(OPERATOR, name, operator_class, lambda: _restore(operator_class, holder))
    return operator_class


def _restore(operator_class: type[Operator], before: type[Operator] | None) -> None:
    """Put what had the name of a class before in its place, unless another one has the name by now."""
    if _OPERATORS.get(operator_class.name) is operator_class:
        del _OPERATORS[operator_class.name]
        if before is not None:
            _OPERATORS[operator_class.name] = before


def _require_flag(operator_class: type[Operator]) -> None:
    """Check that a kernel is declared by ``has_kernel`` (or ``whole_kernel``), and that a declared kernel is implemented."""
    # A subclass may switch off the kernel that it inherits.
    level = {name: next(depth for depth, base in enumerate(operator_class.__mro__) if name in vars(base)) for name in ("kernel", "has_kernel")}
    has_own = operator_class.kernel is not Operator.kernel and level["kernel"] <= level["has_kernel"]
    may_have = operator_class.has_kernel is not False or operator_class.whole_kernel is not None
    if has_own and not may_have:
        raise PlanInvariantError(
            f"the operator class {operator_class.__qualname__} has a kernel() that would not be called: set has_kernel = True if it works on any "
            "run of rows, or define whole_kernel where it needs all rows"
        )
    if operator_class.has_kernel is True and not any(
        getattr(operator_class, name, None) is not getattr(Operator, name, None) for name in ("kernel", "run_interval", "read", "advance")
    ):
        raise PlanInvariantError(f"the operator class {operator_class.__qualname__} sets has_kernel = True but does not define kernel()")


def planner_node_name_to_type(name: str) -> type[Operator]:
    """Return the operator class that is registered under a name.

    Raises
    ------
    PlanInvariantError
        If no operator is registered under the name.

    Examples
    --------
    >>> planner_node_name_to_type("range_source").__name__
    'RangeSource'
    """
    if not is_registered(name):
        raise PlanInvariantError(f"there is no operator {name!r}; registered: {', '.join(registered_names())}")
    return _OPERATORS[name]


def planner_node_type_to_name(operator_class: type[Operator]) -> str:
    """Return the name under which an operator class is registered.

    Raises
    ------
    PlanInvariantError
        If the class is not registered.
    """
    if _OPERATORS.get(operator_class.name) is not operator_class:
        raise PlanInvariantError(f"{operator_class.__qualname__} is not a registered operator")
    return operator_class.name


def is_registered(name: str) -> bool:
    """Return whether an operator is registered under a name."""
    _import_builtin(name)
    return name in _OPERATORS


def _import_builtin(name: str) -> None:
    if name not in _OPERATORS and name in BUILTIN_MODULES:
        importlib.import_module(BUILTIN_MODULES[name])


def import_builtin_operators() -> None:
    """Register all operators of this package."""
    for name in BUILTIN_MODULES:
        _import_builtin(name)


def registered_names() -> list[str]:
    """Return the sorted names of all operators of this package, whether imported or not, and of plug-ins that are loaded.

    Examples
    --------
    >>> "range_source" in registered_names()
    True
    """
    return sorted({*BUILTIN_MODULES, *_OPERATORS})
