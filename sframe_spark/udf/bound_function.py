"""A user's function whose names are bound to their values of now, although it is called later, perhaps in other processes.

A loop that applies ``lambda value: value * factor`` once for each factor makes columns of different factors, although none is computed before
the loop has ended. The reference sends a copy of the function to other processes at once, with the same effect.
"""

from __future__ import annotations

import contextvars
import functools
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from sframe_spark.errors import StateNotSharedError
from sframe_spark.udf import process_state
from sframe_spark.udf.code_analysis import is_class, is_importable, names_in
from sframe_spark.udf.name_binding import Family, copied, itself, meanings
from sframe_spark.udf.pickling import PackedFunction, addressed, copy_of_program, pack_program
from sframe_spark.udf.process_state import state_now
from sframe_spark.udf.received_program import ReceivedFunction
from sframe_spark.udf.user_modules import objects_of, reaches_state, users_module

if TYPE_CHECKING:
    from sframe_spark.udf.program_pickler import PackedProgram

OUR_THREADS = "sframe_spark"
# A function that reaches more bytes is not kept with them: they are data.
MAX_SNAPSHOT_BYTES = 8 << 20

Function = Callable[..., Any]


class FunctionAsNow:
    """A user's function whose names keep the meaning that they have when this is made, whatever is assigned to them later.

    The user's own function is called as long as its names keep that meaning, so what it changes in objects is seen by the user. When a name has been
    assigned by other code than the function and those that it uses, a copy of these is called, in which names have their former meaning. A
    function that its module has under its name is part of that module, and is called as the module is then; classes stay what they are.

    Parameters
    ----------
    given
        What the user gave to be called.
    form
        Wraps that, or its copy, in what is called.

    Examples
    --------
    >>> factor, seen = 2, []
    >>> bound = FunctionAsNow(lambda value: seen.append(value) or value * factor)
    >>> factor = 3
    >>> bound(10), seen
    (20, [10])
    """

    def __init__(self, given: Function, form: Callable[[Function], Function] | None = None) -> None:
        self.given = given
        self._form = form or itself
        self._family = None if is_importable(given) or is_class(given) else Family(given)
        self._called = self._form(given)
        self._is_copied = False
        self._state, self._context = state_now(), contextvars.copy_context()
        # The function packed when it was given, if it reaches state; and that state when the function was called last.
        self._saved: PackedProgram | None = None
        self._rested: tuple[bytes | None, bytes | None] | None = None
        # The mutable objects that its names mean, as long as it only reads them.
        self._objects: list[Any] = []
        self._is_to_be_compared = False
        # It is called for more rows than this process computes itself.
        self._is_for_others = False
        self._received: ReceivedFunction | None = None

    def keep(self, is_for_other_processes: bool = True) -> None:
        """Keep the function packed with what it reaches now, for rows that other processes compute later, unless that takes many bytes.

        Parameters
        ----------
        is_for_other_processes
            There are more rows than this process computes itself.
        """
        self._is_for_others = is_for_other_processes
        if reaches_state(self.given, self._family):
            self._saved = self._snapshot()
            self._objects = objects_of(self._family) if self._family is not None else []
            self._rested = self._state_reached()

    def record_state(self, is_called: bool = True) -> None:
        """Take note of the state that the function reaches after it was called: later differences are changes by other code.

        Parameters
        ----------
        is_called
            It has been called for the first rows. If it has not changed the objects that its names mean, it only reads them; otherwise, or if it
            was not called, they are the user's, and changes to them are seen.
        """
        self._is_to_be_compared = False
        if self._saved is not None and self._received is None:
            before, self._rested = self._rested, self._state_reached()
            if self._objects and (not is_called or before != self._rested):
                self._objects = []
                self._rested = self._state_reached()

    def _state_reached(self) -> tuple[bytes | None, bytes | None] | None:
        if self._saved is None or (self._saved.state.is_none and not self._objects):
            return None
        from sframe_spark.udf.program_pickler import content_now

        return self._saved.state.now(), content_now(self._objects)

    def _snapshot(self) -> PackedProgram | None:
        try:
            return pack_program(self._called, self._state, self._context, MAX_SNAPSHOT_BYTES)
        except Exception:
            # The error is raised where the function has to be sent.
            return None

    @contextmanager
    def during_action(self) -> Iterator[None]:
        """A block in which rows are computed: before the first call, the state that the function reaches is compared with what it was."""
        self._is_to_be_compared = self._rested is not None
        try:
            yield
        except Exception:
            # The user may correct the error by changing what the function reads.
            self._objects = []
            raise
        finally:
            if self._rested is not None and not self._is_to_be_compared:
                self.record_state()

    def entered(self) -> AbstractContextManager[None]:
        """A block in which this process has the state that it had when this was made."""
        return process_state.entered(self._state, is_users_process=True) if self._received is None else self._received.entered()

    def packed(self, description: str) -> PackedFunction:
        """Return the function as it is sent to other processes."""
        kept = self._saved or pack_program(self.now(), self._state, self._context)
        return addressed(description, kept)

    @functools.cached_property
    def hashes(self) -> bool:
        """Whether code that it reaches asks for hashes: those of texts differ between processes."""
        return self._does(lambda code: code.hashes)

    @functools.cached_property
    def makes_sets(self) -> bool:
        """Whether code that it reaches makes sets, whose order differs between processes."""
        return self._does(lambda code: code.makes_sets)

    @property
    def order_differs_across_processes(self) -> bool:
        """Whether processes that call it for most rows may order sets differently, so that results of this process must not be mixed with theirs."""
        return self._is_for_others and self.makes_sets and not self.hashes

    def _does(self, asked: Callable[[Any], bool]) -> bool:
        codes = [each.__code__ for each in self.reached_functions()]
        return self.given is hash or (self._saved is not None and asked(self._saved)) or any(asked(names_in(code)) for code in codes)

    def reached_functions(self) -> list[types.FunctionType]:
        """Return the functions whose names are bound, or the one that was given."""
        if self._family is not None:
            return self._family.members
        return [self.given] if type(self.given) is types.FunctionType and users_module(self.given.__module__) is not None else []

    def reached(self) -> list[Any]:
        """Return what the function reaches: by names, in its defaults, in small collections and attributes."""
        if self._family is not None:
            return self._family.reached()
        return list(meanings(self.given)) if type(self.given) is types.FunctionType else []

    def now(self) -> Function:
        """Return what is to be called now, for some rows."""
        if self._is_to_be_compared:
            self._is_to_be_compared = False
            if self._saved is not None and self._received is None and self._rested != self._state_reached():
                self._call_snapshot(self._saved)
        if not self._is_copied and self._family is not None and not self._family.is_as_it_was():
            self._called, self._is_copied = self._form(copied(self.given, self._family)), True
        return self._called

    def _call_snapshot(self, kept: PackedProgram) -> None:
        """Call a copy of the function, its modules and classes as they were: other code has changed what it reaches."""
        try:
            self._received = copy_of_program(kept)
        except Exception as error:
            reason = f"what {self.given!r:.80} reaches has been changed since it was given, and cannot be made again as it was"
            raise StateNotSharedError(f"{reason} ({type(error).__name__}: {error}): materialize() the column before it is changed") from error
        self._called, self._is_copied = self._received.function, True

    def was(self, function: Function) -> bool:
        """Return whether a function has been the right one to call until now."""
        if self._family is not None and not self._is_copied:
            # Asked after each call of some functions, so names are compared once.
            if self._family.is_as_it_was():
                return self._called is function
            self._family.take_for_its_own(all_of_them=not other_threads_run())
        return self.now() is function

    def __call__(self, *values: Any) -> Any:
        """Call the function, in the state that this process has; see :meth:`entered`."""
        function = self.now()
        try:
            return function(*values)
        finally:
            self.was(function)


def other_threads_run() -> bool:
    """Return whether another thread may assign names at the same time: one that is neither ours nor waits for us."""
    here = threading.current_thread()
    waiting = {threading.main_thread()} if here.name.startswith(OUR_THREADS) else set()
    return any(not other.daemon and other is not here and other not in waiting for other in threading.enumerate())


def now(function: Function) -> Function:
    """Return what to call now for a function as a user gave it, bound to its names, or received from another process."""
    if type(function) is ReceivedFunction:
        return function.function
    return function.now() if type(function) is FunctionAsNow else function


def entered(function: Function) -> AbstractContextManager[None]:
    """A block in which what :func:`now` gives may be called: this process has the state that it had where the function was given."""
    return function.entered() if isinstance(function, (FunctionAsNow, ReceivedFunction)) else nullcontext()


def hashes(function: Function) -> bool:
    """Return whether a function asks for hashes."""
    return type(function) is FunctionAsNow and function.hashes


def during_action(function: Function) -> AbstractContextManager[None]:
    """A block in which rows are computed that may need a function."""
    return function.during_action() if type(function) is FunctionAsNow else nullcontext()


def packed(function: Function, description: str) -> PackedFunction:
    """Return a function as it is sent to other processes, with the state that it is to find there.

    Raises
    ------
    pickle.PicklingError
        If something cannot be sent; or whatever error its class raises.
    """
    if type(function) is FunctionAsNow:
        return function.packed(description)
    return addressed(description, pack_program(now(function), state_now(), contextvars.copy_context()))


def still_right(function: Function, used: Function) -> bool:
    """Return whether what :func:`now` gave is still right after calls of it: other code may have assigned names in the meantime."""
    return type(function) is not FunctionAsNow or function.was(used)


def original(function: Function) -> Function:
    """Return what the user gave."""
    if type(function) is ReceivedFunction:
        return function.function
    return function.given if type(function) is FunctionAsNow else function
