"""Parameters in the text of a plan, one changed at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Path = tuple[Any, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Plain values within a JSON value, with the way to each."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield path, value
        return
    for key, item in inner:
        yield from leaves(item, (*path, key))


def with_leaf(value: Any, path: Path, other: Any) -> Any:
    """A copy of a JSON value with another one at the end of a way."""
    changed = place = copy.deepcopy(value)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = other
    return changed
