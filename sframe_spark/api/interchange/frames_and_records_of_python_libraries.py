"""Frames of libraries that give no Arrow stream, and lists of records (dataclasses, attrs, pydantic), as tables of named columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.message_text import brief, visible
from sframe_spark.values.input_copying_simplification_and_validation import library_of

# Frames: by library, how its frames become one of pandas or Arrow. Each is computed by its library, which holds all rows in memory.

_TABLES: Mapping[str, Callable[[Any], Any]] = {
    "cudf": lambda data: data.to_arrow(),
    "dask": lambda data: data.compute(),
    "datatable": lambda data: data.to_arrow(),
    "modin": lambda data: data._to_pandas(),
    "vaex": lambda data: data.to_arrow_table(),
    # Dimensions without coordinates are numbered, in a separate column.
    "xarray": lambda data: (data.to_dataframe(name=data.name or "X1") if hasattr(data, "dtype") else data.to_dataframe()).reset_index(),
}
# What may follow for a frame of a library that is not known here.
_METHODS = ("to_arrow", "to_pandas")


def is_other_frame(data: Any) -> bool:
    """Return whether an object is a frame of another library: going through it would give the names of its columns, not its rows.

    Examples
    --------
    >>> is_other_frame([1]), is_other_frame({"columns": [1]})
    (False, False)
    """
    if isinstance(data, (Mapping, Sequence, type)) and library_of(data) != "xarray":
        return False
    if library_of(data) == "xarray":
        return hasattr(data, "to_dataframe") and getattr(data, "ndim", 1) > 0
    return hasattr(data, "columns") and not hasattr(data, "dtype")


def table_of_other_frame(data: Any) -> Any:
    """Return all rows of another library's frame, in order, as a DataFrame of pandas or a table of Arrow.

    Raises
    ------
    InvalidArgumentError
        If the library is not known and the frame does not say how it becomes either.
    """
    convert = _TABLES.get(library_of(data))
    if convert is not None:
        return convert(data)
    if hasattr(data, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return from_dataframe(data)
    methods = [name for name in _METHODS if callable(getattr(data, name, None))]
    advice = f"pass the result of its {methods[0]}()" if methods else "pass a dict of columns, or a table of pandas or Arrow"
    raise InvalidArgumentError(f"an SFrame cannot be made of {library_of(data)}'s {type(data).__name__}: {advice}")


# Records: objects of one class whose fields are declared


def fields_of(record_class: type) -> tuple[str, ...] | None:
    """Return the names of the fields that a class of dataclasses, attrs or pydantic declares, in that order; None for other classes.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Star:
    ...     name: str
    ...     mass: float
    >>> fields_of(Star), fields_of(dict)
    (('name', 'mass'), None)
    """
    if dataclasses.is_dataclass(record_class):
        return tuple(field.name for field in dataclasses.fields(record_class))
    of_attrs = getattr(record_class, "__attrs_attrs__", None)
    if of_attrs is not None:
        return tuple(field.name for field in of_attrs)
    of_pydantic = getattr(record_class, "__pydantic_fields__", None)
    return tuple(of_pydantic) if isinstance(of_pydantic, Mapping) else None


def columns_of_records(records: Sequence[Any]) -> dict[str, list[Any]] | None:
    """Return a list of records as columns, one for each field; None if the first item is not a record. Records within records are dicts.

    A missing record (None) has missing values.

    Raises
    ------
    SchemaError
        If the records are of several classes, or have no fields.
    """
    first = next((record for record in records if record is not None), None)
    record_class = type(first)
    fields = fields_of(record_class)
    if first is None or fields is None:
        return None
    for number, record in enumerate(records):
        if record is not None and type(record) is not record_class:
            raise SchemaError(
                f"a list of records holds one class, but row {number} is {brief(record)} ({type(record).__name__}), the first is a "
                f"{record_class.__name__}: make a frame of each class"
            )
    if not fields:
        raise SchemaError(f"the class {visible(record_class.__name__)} declares no fields: give records that have some")
    return {field: [None if record is None else _cell(getattr(record, field)) for record in records] for field in fields}


def _cell(value: Any) -> Any:
    """Return the value of a field, with records in it, also in lists and dicts, as dicts."""
    if isinstance(value, Mapping):
        return {key: _cell(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_cell(item) for item in value]
    fields = None if isinstance(value, type) else fields_of(type(value))
    return value if fields is None else {field: _cell(getattr(value, field)) for field in fields}


def is_record(value: Any) -> bool:
    """Return whether an object is one record, not a list of them."""
    return not isinstance(value, type) and fields_of(type(value)) is not None


def refusal_of_record(record: Iterable[Any]) -> InvalidArgumentError:
    """Return the error for one record where a frame takes a list of them."""
    return InvalidArgumentError(f"an SFrame cannot be made of a single {type(record).__name__}: pass a list, [record]")
