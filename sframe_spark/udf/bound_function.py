"""Users' functions with variables bound to the values that they had when the function was given, because it is called later or in another process.

A loop that applies ``lambda value: value * factor`` for several factors makes columns of different factors, although no column is computed
before the loop has ended. (Turi Create sends a copy of the function to other processes at once, with the same effect.)
"""

from __future__ import annotations

import contextvars
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import StateNotSharedError
from sframe_spark.udf import captured_locale_decimal_and_time_zone_state as process_state
from sframe_spark.udf.captured_locale_decimal_and_time_zone_state import state_now
from sframe_spark.udf.captured_variables import Family, copied, itself, meanings
from sframe_spark.udf.code_analysis import is_class, is_importable, names_in
from sframe_spark.udf.pickling import PackedFunction, addressed, copy_of_program, pack_program
from sframe_spark.udf.received_program import ReceivedFunction
from sframe_spark.udf.user_module_detection_and_reached_variables import objects_of, reaches_state, users_module

if TYPE_CHECKING:
    from sframe_spark.udf.program_pickler import PackedProgram

OUR_THREADS = "sframe_spark"
# No snapshot is made of a function that reaches more bytes than this.
MAX_SNAPSHOT_BYTES = 8 << 20

Function = Callable[..., Any]


class FunctionAsNow:
    """A user's function whose variables keep the values that they have when this object is made, whatever is assigned to them later.

    As long as its variables have these values, the user's own function is called, so that the user sees its changes to objects. Once other code
    has assigned a variable, copies of the function and of the functions that it uses are called instead, in which variables have the former values.
    An importable function belongs to its module, and is called as the module is at the time of the call. Classes are not copied.

    Parameters
    ----------
    given
        The user's callable.
    form
        Wraps the callable, or its copy, into the function that is called; None: no wrapping.

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
        # The pickled function as it was when given, if it reaches state; and that state as it was recorded last, at first or after a call.
        self._saved: PackedProgram | None = None
        self._state_when_recorded: tuple[bytes | None, bytes | None] | None = None
        # The mutable objects that its variables hold, as long as the function only reads them.
        self._objects: list[Any] = []
        self._is_to_be_compared = False
        # Whether other processes call the function for most rows.
        self._is_for_others = False
        self._received: ReceivedFunction | None = None

    def keep(self, is_for_other_processes: bool = True) -> None:
        """Keep a snapshot of the function and of the state that it reaches now, unless it is too large.

        Parameters
        ----------
        is_for_other_processes
            Whether there are more rows than this process computes itself.
        """
        self._is_for_others = is_for_other_processes
        if reaches_state(self.given, self._family):
            self._saved = self._snapshot()
            self._objects = objects_of(self._family) if self._family is not None else []
            self._state_when_recorded = self._state_reached()

    def record_state(self, is_called: bool = True) -> None:
        """Record the state that the function reaches, after it was called, so that later differences are changes by other code.

        Parameters
        ----------
        is_called
            Whether the function has been called for the first rows. If it has not changed the objects that its variables hold, it only reads them,
            and later calls see the content that the objects have now. Otherwise later calls see later changes to these objects.
        """
        self._is_to_be_compared = False
        if self._saved is not None and self._received is None:
            before, self._state_when_recorded = self._state_when_recorded, self._state_reached()
            if self._objects and (not is_called or before != self._state_when_recorded):
                self._objects = []
                self._state_when_recorded = self._state_reached()

    def _state_reached(self) -> tuple[bytes | None, bytes | None] | None:
        if self._saved is None or (self._saved.state.is_none and not self._objects):
            return None
        from sframe_spark.udf.program_pickler import content_now

        return self._saved.state.now(), content_now(self._objects)

    def _snapshot(self) -> PackedProgram | None:
        try:
            return pack_program(self._called, self._state, self._context, MAX_SNAPSHOT_BYTES)
        except Exception:
            # The error is raised when the function has to be sent.
            return None

    @contextmanager
    def during_action(self) -> Iterator[None]:
        """Return a context manager for an action: before the first call, the state that the function reaches is compared with the recorded state."""
        self._is_to_be_compared = self._state_when_recorded is not None
        try:
            yield
        except Exception:
            # The user may correct the error by changing objects that the function reads.
            self._objects = []
            raise
        finally:
            if self._state_when_recorded is not None and not self._is_to_be_compared:
                self.record_state()

    def entered(self) -> AbstractContextManager[None]:
        """Return a context manager for a block in which this process has the state that it had when this object was made."""
        return process_state.entered(self._state, is_users_process=True) if self._received is None else self._received.entered()

    def packed(self, description: str) -> PackedFunction:
        """Return the function packed for other processes."""
        kept = self._saved or pack_program(self.now(), self._state, self._context)
        return addressed(description, kept)

    @cached_property
    def hashes(self) -> bool:
        """Whether code that the function reaches uses hashes: hashes of strings differ between processes."""
        return self._does(lambda code: code.hashes)

    @cached_property
    def makes_sets(self) -> bool:
        """Whether code that the function reaches makes sets: their order differs between processes."""
        return self._does(lambda code: code.makes_sets)

    @property
    def order_differs_across_processes(self) -> bool:
        """Whether other processes may order sets differently, so that their results must not be mixed with results of this process."""
        return self._is_for_others and self.makes_sets and not self.hashes

    def _does(self, predicate: Callable[[Any], bool]) -> bool:
        codes = [names_in(function.__code__) for function in self.reached_functions()]
        return self.given is hash or (self._saved is not None and predicate(self._saved)) or any(map(predicate, codes))

    def reached_functions(self) -> list[types.FunctionType]:
        """Return the functions whose variables are bound; for an importable function, the function itself if it is in a module of the user's."""
        if self._family is not None:
            return self._family.members
        return [self.given] if type(self.given) is types.FunctionType and users_module(self.given.__module__) is not None else []

    def reached(self) -> list[Any]:
        """Return the objects that the function reaches: through variables, defaults, small collections and attributes."""
        if self._family is not None:
            return self._family.reached()
        return list(meanings(self.given)) if type(self.given) is types.FunctionType else []

    def now(self) -> Function:
        """Return the function to call now, for some rows."""
        if self._is_to_be_compared:
            self._is_to_be_compared = False
            if self._saved is not None and self._received is None and self._state_when_recorded != self._state_reached():
                self._call_snapshot(self._saved)
        if not self._is_copied and self._family is not None and not self._family.is_as_it_was():
            self._called, self._is_copied = self._form(copied(self.given, self._family)), True
        return self._called

    def _call_snapshot(self, kept: PackedProgram) -> None:
        """From now on call a copy of the function with modules and classes as in the snapshot, because other code has changed them."""
        try:
            self._received = copy_of_program(kept)
        except Exception as error:
            reason = f"objects that {self.given!r:.80} uses were changed after it was passed, and cannot be restored"
            raise StateNotSharedError(f"{reason} ({type(error).__name__}: {error}): materialize() the column before it is changed") from error
        self._called, self._is_copied = self._received.function, True

    def is_current(self, function: Function) -> bool:
        """Return whether ``function`` is still what :meth:`now` returns."""
        if self._family is not None and not self._is_copied:
            # This is called after each call of some functions, so variables are compared only once.
            if self._family.is_as_it_was():
                return self._called is function
            self._family.take_for_its_own(all_of_them=not other_threads_run())
        return self.now() is function

    def __call__(self, *values: Any) -> Any:
        """Call the function in the current state of this process; see :meth:`entered`."""
        function = self.now()
        try:
            return function(*values)
        finally:
            self.is_current(function)


def other_threads_run() -> bool:
    """Return whether another thread may assign variables concurrently: one that is not a daemon, and does not wait for this package."""
    current = threading.current_thread()
    waiting = {threading.main_thread()} if current.name.startswith(OUR_THREADS) else set()
    return any(not other.daemon and other is not current and other not in waiting for other in threading.enumerate())


def now(function: Function) -> Function:
    """Return what to call for a function: plain, bound to its variables (:class:`FunctionAsNow`), or received from another process."""
    if type(function) is ReceivedFunction:
        return function.function
    return function.now() if type(function) is FunctionAsNow else function


def entered(function: Function) -> AbstractContextManager[None]:
    """Return a context manager for calls of the result of :func:`now`: this process has the state that it had when the function was given."""
    return function.entered() if isinstance(function, (FunctionAsNow, ReceivedFunction)) else nullcontext()


def hashes(function: Function) -> bool:
    """Return whether a bound function uses hashes; False for other functions."""
    return type(function) is FunctionAsNow and function.hashes


def during_action(function: Function) -> AbstractContextManager[None]:
    """Return a context manager for an action that may call a function."""
    return function.during_action() if type(function) is FunctionAsNow else nullcontext()


def packed(function: Function, description: str) -> PackedFunction:
    """Return a function packed for other processes, with the state that it needs there.

    Raises
    ------
    pickle.PicklingError
        If something cannot be pickled; a class may also raise any other error while its objects are pickled.
    """
    if type(function) is FunctionAsNow:
        return function.packed(description)
    return addressed(description, pack_program(now(function), state_now(), contextvars.copy_context()))


def still_right(function: Function, used: Function) -> bool:
    """Return whether ``used``, which :func:`now` has returned, is still current after calls: other code may have assigned variables since then."""
    return type(function) is not FunctionAsNow or function.is_current(used)


def original(function: Function) -> Function:
    """Return the callable that the user gave."""
    if type(function) is ReceivedFunction:
        return function.function
    return function.given if type(function) is FunctionAsNow else function
