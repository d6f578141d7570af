"""Tables of named functions, which plans refer to by name, and how those of plug-ins travel to workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from sframe_spark.errors import ExecutionError, InvalidArgumentError, SchemaError, SFrameError, listed, near_names
from sframe_spark.planner.registry import load_operators
from sframe_spark.types import ColumnType
from sframe_spark.udf.pickling import PackedFunction, load_function, pack_function


class Named(Protocol):
    """What a table holds: something with a name, and with a function of which the place of definition is known."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def infer(self) -> Callable[..., Any]:
        """The function that infers the type of a result."""


Entry = TypeVar("Entry", bound=Named)
Parcels = Mapping[str, "PackedFunction | str"]


class FunctionTable(dict[str, Entry]):
    """Functions of one kind by name.

    A table that is pickled is what plug-ins have added to it, each function on its own; where it is unpickled, they are loaded when they are
    asked for. So a function that does not travel harms only the plans that use it.

    Parameters
    ----------
    kind
        What messages call an entry, such as ``scalar function``.
    receive
        Function of a module that gives such parcels to the table of the process where it is called.
    """

    def __init__(self, kind: str, receive: Callable[[Parcels], FunctionTable[Any]]) -> None:
        super().__init__()
        self.kind, self._receive = kind, receive
        self._built_in: frozenset[str] = frozenset()
        self._parcels: dict[str, PackedFunction | str] = {}
        self._packing = threading.local()

    def add(self, entry: Entry) -> Entry:
        """Add an entry; one that was defined at the same place before is replaced, as when a cell of a notebook runs again.

        Raises
        ------
        InvalidArgumentError
            If the name is no name, or taken by another entry.
        """
        if not isinstance(entry.name, str) or not entry.name.isidentifier():
            raise InvalidArgumentError(f"a {self.kind} is named as variables are, by letters, digits and underscores, not {entry.name!r:.80}")
        holder = self.get(entry.name)
        if holder is not None and (entry.name in self._built_in or place_of(holder.infer) != place_of(entry.infer)):
            raise InvalidArgumentError(f"the name {entry.name!r} is taken by the {self.kind} of {place_of(holder.infer)}: choose another name")
        self[entry.name] = entry
        return entry

    def close(self) -> None:
        """Take the entries so far for those that every process has."""
        self._built_in = frozenset(self)

    def added(self) -> list[Entry]:
        """Entries that are not built in."""
        return [entry for name, entry in self.items() if name not in self._built_in]

    def named(self, name: str) -> Entry:
        """The entry of a name; those of installed packages are loaded first.

        Raises
        ------
        InvalidArgumentError
            If there is none.
        ExecutionError
            If it did not reach this worker.
        """
        if not isinstance(name, str):
            raise InvalidArgumentError(f"a {self.kind} goes by its name, a text, not by {name!r:.80}")
        found = self.get(name)
        if found is not None:
            return found
        if name in self._parcels:
            return self._opened(name)
        load_operators()
        if name in self:
            return self[name]
        near = near_names(name, self)
        meant = f": did you mean {listed(near)}?" if near else "."
        raise InvalidArgumentError(f"no {self.kind} is named {name!r:.80}{meant} One of a plug-in is known once its module is imported")

    def inferred(self, name: str, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        """The type that an entry infers.

        Raises
        ------
        SchemaError
            If it does not take so many arguments, or gives no type.
        """
        try:
            found = self.named(name).infer(types, parameters)
        except (IndexError, ValueError) as error:
            if isinstance(error, SFrameError):
                raise
            given = f"{len(types)} arguments ({', '.join(map(str, types))})"
            raise SchemaError(f"the {self.kind} {name!r} does not take {given}: {error}") from error
        if not isinstance(found, ColumnType):
            raise SchemaError(f"the {self.kind} {name!r} infers {found!r:.80}: it gives a column type, such as INT or types[0]")
        return found

    def _opened(self, name: str) -> Entry:
        parcel = self._parcels[name]
        if isinstance(parcel, str):
            raise ExecutionError(f"the {self.kind} {name!r} did not reach other Python processes: {parcel}")
        entry: Any = load_function(*parcel)
        self[name] = entry
        return self[name]

    def received(self, parcels: Parcels) -> FunctionTable[Entry]:
        """Keep functions that another process has sent; what was defined in this one stays."""
        for name, parcel in parcels.items():
            if name in self._parcels and parcel != self._parcels[name]:
                self.pop(name, None)
            if name not in self:
                self._parcels[name] = parcel
        return self

    def __reduce__(self) -> Any:
        # Within what it holds itself, as in a function that names the table, it is the table of the process that it comes to.
        if getattr(self._packing, "begun", False):
            return self._receive, ({},)
        self._packing.begun = True
        try:
            return self._receive, ({entry.name: self._packed(entry) for entry in self.added()},)
        finally:
            self._packing.begun = False

    def _packed(self, entry: Entry) -> PackedFunction | str:
        try:
            return pack_function(entry, f"the {self.kind} {entry.name!r}")
        except Exception as error:
            return f"it cannot be pickled ({error})"


def place_of(code: Callable[..., Any]) -> str:
    """Module and name of a function, by which its next version is known."""
    return f"{getattr(code, '__module__', None)}.{getattr(code, '__qualname__', type(code).__qualname__)}"
