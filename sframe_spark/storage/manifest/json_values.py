"""Values of manifests as JSON has them, and back; what is of another form is refused."""

from __future__ import annotations

import math
from typing import Any


def optional_tuple(items: Any) -> tuple[Any, ...] | None:
    """Return the items of a JSON list; a text is no list of letters."""
    if items is None:
        return None
    if not isinstance(items, list):
        raise TypeError(f"{items!r:.80} is no list")
    return tuple(items)


def tuple_of_list(items: Any) -> tuple[Any, ...]:
    """Return the items of a JSON list, of which there is one."""
    return optional_tuple(items) or ()


def flag_of(value: Any) -> bool:
    """Return a JSON flag; no other value passes for one."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.80} is neither true nor false")
    return value


def scalar_to_json(value: Any) -> Any:
    """Return a scalar as JSON; JSON has no NaN and no infinities."""
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def scalar_from_json(value: Any) -> Any:
    """Undo :func:`scalar_to_json`."""
    return float(str(value["float"])) if isinstance(value, dict) else value
