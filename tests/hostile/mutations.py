"""Texts of saved things with something wrong: other values in places of their JSON, or other characters."""

from __future__ import annotations

import json
import random
from typing import Any

STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    3,
    7,
    2**31,
    2**33,
    2**62,
    2**63,
    2**70,
    10**30,
    0.5,
    -0.0,
    1e308,
    "",
    "a",
    "int",
    "../../../../etc/passwd",
    "/etc/passwd",
    "/dev/zero",
    "\x00",
    "\x1b[2J",
    "\ud800",
    "c0",
    [],
    [[]],
    [0, 0, 0],
    ["a"],
    {},
    {"$plain": "[["},
    {"$plain": '{"$datetime":1,"offset":99999}'},
    {"$plain": '{"$array":"abc"}'},
    {"$type": "int"},
    {"$type": []},
    {"$value": "Popen", "args": "true"},
    {"$value": []},
    {"$chunk": -1},
    {"$chunk": 0},
    {"float": "nan"},
    {"float": "os"},
    {"__class__": "os.system"},
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, item in items for deeper in places(item, (*path, key)))]


def mutated(text: str, choose: random.Random) -> str:
    """The text with one to three things changed."""
    for _ in range(choose.choice((1, 1, 2, 3))):
        text = choose.choice((changed_value, changed_value, changed_value, changed_text))(text, choose)
    return text


def changed_value(text: str, choose: random.Random) -> str:
    """JSON with a value replaced, removed, moved or repeated; other text as it is."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return text
    every = [path for path in places(content) if path]
    inner = [path for path in every if "parameters" in path[:-1]] if choose.random() < 0.6 else []
    if not every:
        return text
    *above, last = choose.choice(inner or every)
    holder = content
    for key in above:
        holder = holder[key]
    action = choose.randrange(5)
    if action == 0 and isinstance(holder, (dict, list)):
        holder.pop(last, None) if isinstance(holder, dict) else holder.pop(last)
    elif action == 1:
        path = choose.choice(places(content))
        found = content
        for key in path:
            found = found[key]
        holder[last] = json.loads(json.dumps(found))
    elif action == 2 and isinstance(holder, list):
        holder.extend(holder[: choose.randrange(1, 4)])
    elif action == 3 and type(holder[last]) is int:
        holder[last] += choose.choice((-1, 1, 2**32, -(2**63)))
    else:
        holder[last] = choose.choice(STRANGE)
    return json.dumps(content)


def changed_text(text: str, choose: random.Random) -> str:
    """Text with some characters replaced, removed or repeated."""
    start = choose.randrange(len(text) or 1)
    stop = start + choose.randrange(1, 9)
    middle = choose.choice(("", "\x00", "[" * 2000, '"', "9" * 5000, "{}", text[start:stop] * 2, chr(choose.randrange(1, 0x300))))
    return text[:start] + middle + text[stop:]
