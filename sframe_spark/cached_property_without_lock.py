"""A cached property that holds no lock while it computes its value.

Python 3.11 holds a lock for each :func:`functools.cached_property`, whichever object it is asked of. A process that is forked while another thread
computes a value inherits the lock as taken, and waits for ever where it asks for the property.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Type checkers know this one.
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A property whose value is computed when it is first asked for, and kept; threads that ask at the same time may compute it twice."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
