"""The model of an SArray: a list. It shares no code with the engine."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from tests.model.values import CLASSES, ORDERED, Refused, has_one_offset_kind, is_missing, is_nan, key_of, rank

KIND_OF = {cls: kind for kind, cls in CLASSES.items()}
LARGEST = 1 << 62


class Column:
    """A column of values of one kind, with the members of SArray that programs use."""

    def __init__(self, data: Any, dtype: type | None = None) -> None:
        if isinstance(data, Column):
            self.kind, self.values = data.kind, data.values
        elif dtype is None:
            raise Refused("the model infers no types")
        else:
            self.kind, self.values = KIND_OF[dtype], list(data)

    @classmethod
    def of(cls, kind: str, values: list[Any]) -> Column:
        if kind == "int" and any(value is not None and abs(value) > LARGEST for value in values):
            raise Refused("ints wrap")
        return cls(values, CLASSES[kind])

    @classmethod
    def from_const(cls, value: Any, size: int, dtype: type) -> Column:
        return cls([value] * size, dtype)

    @classmethod
    def from_sequence(cls, start: int, stop: int) -> Column:
        return cls(range(start, stop), int)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Column):
            return Column.of(self.kind, list(itertools.compress(self.values, key.truths(len(self)))))
        return Column.of(self.kind, self.values[key]) if isinstance(key, slice) else self.values[key]

    def truths(self, rows: int) -> list[bool]:
        """What a mask says of each of so many rows."""
        if self.kind != "int" or len(self) != rows:
            raise Refused("no mask for these rows")
        return [bool(value) for value in self.values]

    def head(self, n: int) -> Column:
        return self[:n]

    def tail(self, n: int) -> Column:
        return self[max(0, len(self) - n) :]

    def append(self, other: Column) -> Column:
        if self.kind != other.kind:
            if len(self) and len(other):
                raise Refused("other kinds")
            return other if len(other) else self
        return Column.of(self.kind, self.values + other.values)

    def sort(self, ascending: bool = True) -> Column:
        self.require_order()
        return Column.of(self.kind, sorted(self.values, key=rank, reverse=not ascending))

    def require_order(self) -> None:
        if self.kind not in ORDERED or not has_one_offset_kind(self.values):
            raise Refused("no order")

    def require_keys(self) -> None:
        """Keys that are told apart beyond doubt: no zero is negative, an instant has one offset."""
        self.require_order()
        present = [value for value in self.values if not is_missing(value)]
        if len({repr(value) for value in present}) != len(set(present)) or "-0.0" in map(repr, present):
            raise Refused("values that are equal and look different")

    def unique(self) -> Column:
        self.require_keys()
        return Column.of(self.kind, sorted({key_of(value): value for value in self.values}.values(), key=rank))

    def dropna(self) -> Column:
        return Column.of(self.kind, [value for value in self.values if not is_missing(value)])

    def fillna(self, value: Any) -> Column:
        if KIND_OF.get(type(value)) != self.kind:
            raise Refused("a value of another kind")
        return Column.of(self.kind, [value if is_missing(item) else item for item in self.values])

    def astype(self, dtype: type) -> Column:
        kind = KIND_OF[dtype]
        casts: dict[tuple[str, str], Callable[[Any], Any]] = {("int", "float"): float, ("int", "str"): str, ("float", "int"): int}
        cast = casts.get((self.kind, kind))
        if cast is None or any(is_nan(value) or (isinstance(value, float) and abs(value) > LARGEST) for value in self.values):
            raise Refused("no such cast")
        return Column.of(kind, [None if value is None else cast(value) for value in self.values])

    def apply(self, fn: Callable[[Any], Any], dtype: type) -> Column:
        if any(is_nan(value) for value in self.values):
            raise Refused("functions of NaN")
        return Column.of(KIND_OF[dtype], [None if value is None else fn(value) for value in self.values])

    def clip(self, lower: int, upper: int) -> Column:
        return self._each(lambda value: min(max(value, lower), upper), "int", ("int",))

    def is_in(self, other: list[Any]) -> Column:
        if self.kind not in ("int", "str"):
            raise Refused("no keys")
        return Column.of("int", [int(value is not None and value in other) for value in self.values])

    def cumulative_sum(self) -> Column:
        return self._running(operator.add)

    def cumulative_max(self) -> Column:
        return self._running(max)

    def cumulative_min(self) -> Column:
        return self._running(min)

    def _running(self, step: Callable[[int, int], int]) -> Column:
        if self.kind != "int":
            raise Refused("running values of ints only")
        found: list[Any] = []
        for value in self.values:
            before = found[-1] if found else None
            found.append(before if value is None else value if before is None else step(before, value))
        return Column.of("int", found)

    def _each(self, function: Callable[[Any], Any], kind: str, kinds: tuple[str, ...]) -> Column:
        if self.kind not in kinds:
            raise Refused("no such values")
        return Column.of(kind, [None if value is None else function(value) for value in self.values])

    def _with(self, other: Any) -> list[tuple[Any, Any]]:
        """Rows beside those of another column of the same kind, or beside one value."""
        if isinstance(other, Column):
            if other.kind != self.kind or len(other) != len(self):
                raise Refused("other kinds or lengths")
            return list(zip(self.values, other.values, strict=True))
        if KIND_OF.get(type(other)) != self.kind:
            raise Refused("a value of another kind")
        return [(value, other) for value in self.values]

    def _number(self, other: Any, function: Callable[[Any, Any], Any], kind: str | None = None) -> Column:
        if self.kind not in ("int", "float"):
            raise Refused("no numbers")
        try:
            values = [None if a is None or b is None else function(a, b) for a, b in self._with(other)]
        except (ZeroDivisionError, OverflowError):
            raise Refused("beyond the numbers") from None
        return Column.of(kind or self.kind, values)

    def __add__(self, other: Any) -> Column:
        if self.kind == "str":
            return Column.of("str", [None if a is None or b is None else a + b for a, b in self._with(other)])
        return self._number(other, operator.add)

    def __sub__(self, other: Any) -> Column:
        return self._number(other, operator.sub)

    def __mul__(self, other: Any) -> Column:
        return self._number(other, operator.mul)

    def __truediv__(self, other: Any) -> Column:
        return self._number(other, operator.truediv, "float")

    def __neg__(self) -> Column:
        return self._each(operator.neg, self.kind, ("int", "float"))

    def __abs__(self) -> Column:
        return self._each(abs, self.kind, ("int", "float"))

    def _ordered(self, other: Any, function: Callable[[Any, Any], bool]) -> Column:
        self.require_order()
        if not has_one_offset_kind([*self.values, *(other.values if isinstance(other, Column) else [other])]):
            raise Refused("no order")
        pairs = self._with(other)
        # NaN equals NaN, so it is also at most and at least NaN.
        reflexive = function in (operator.le, operator.ge)
        return Column.of(
            "int", [None if a is None or b is None else int(function(a, b) or (reflexive and is_nan(a) and is_nan(b))) for a, b in pairs]
        )

    def __lt__(self, other: Any) -> Column:
        return self._ordered(other, operator.lt)

    def __ge__(self, other: Any) -> Column:
        return self._ordered(other, operator.ge)

    def __gt__(self, other: Any) -> Column:
        return self._ordered(other, operator.gt)

    def __le__(self, other: Any) -> Column:
        return self._ordered(other, operator.le)

    def __eq__(self, other: Any) -> Column:  # type: ignore[override]
        return self._equal(other, 1)

    def __ne__(self, other: Any) -> Column:  # type: ignore[override]
        return self._equal(other, 0)

    __hash__ = None  # type: ignore[assignment]

    def _equal(self, other: Any, equal: int) -> Column:
        if self.kind not in ("int", "float", "str"):
            raise Refused("no comparison")
        pairs = [(value, None) for value in self.values] if other is None else self._with(other)
        return Column.of("int", [equal if a == b or (is_nan(a) and is_nan(b)) else 1 - equal for a, b in pairs])

    def __and__(self, other: Column) -> Column:
        return Column.of("int", [int(bool(a and b)) for a, b in self._two_truths(other)])

    def __or__(self, other: Column) -> Column:
        return Column.of("int", [int(bool(a or b)) for a, b in self._two_truths(other)])

    def _two_truths(self, other: Column) -> list[tuple[Any, Any]]:
        pairs = self._with(other)
        if self.kind != "int" or any(a is None or b is None for a, b in pairs):
            raise Refused("no truths")
        return pairs
