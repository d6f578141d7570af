"""Regular expressions and ``LIKE`` patterns, in the forms that Arrow's kernels take."""

from __future__ import annotations

import re

import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else

with lazy_imports(globals()):
    import pyarrow.compute as pc

# A name that no pattern has.
_WHOLE = "all_of_the_match"


def with_named_groups(pattern: str) -> tuple[str, list[str]]:
    r"""Return a regular expression whose groups all have names, as Arrow needs them, and the names, in the order of the groups.

    Examples
    --------
    >>> with_named_groups(r"([(a]+)\(?(?:b|(?P<n>c))")
    ('(?P<group_1>[(a]+)\\(?(?:b|(?P<n>c))', ['group_1', 'n'])
    """
    parts: list[str] = []
    names: list[str] = []
    # Escaped characters, quoted text, classes of characters, groups with a name, other brackets, and single characters.
    for part in re.findall(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]])*\]|\(\?P?<\w+>|\(\?|.", pattern, re.DOTALL):
        if part == "(":
            names.append(f"group_{len(names) + 1}")
            part = f"(?P<{names[-1]}>"
        elif part.startswith(("(?<", "(?P<")):
            names.append(part[part.index("<") + 1 : -1])
        parts.append(part)
    return "".join(parts), names


def extracted(values: pa.StringArray, pattern: str, group: int) -> pa.Array:
    """Return what a group of a regular expression matches first in each text, 0 for all that matches; missing where nothing matches."""
    named, names = with_named_groups(pattern)
    found = pc.extract_regex(values, f"(?P<{_WHOLE}>{named})")
    name = names[group - 1] if group else _WHOLE
    # A row that has no match is missing in the struct, whose fields are empty texts there.
    return if_else(found.is_valid(), pc.struct_field(found, name), pa.scalar(None, pa.string()))


def like_tokens(pattern: str) -> list[str]:
    r"""Return the parts of a ``LIKE`` pattern: ``%``, ``_``, and texts, each after a backslash, which stands for no wildcard.

    Raises
    ------
    InvalidArgumentError
        If a backslash is before another character, or at the end.

    Examples
    --------
    >>> like_tokens(r"50\%_a%")
    ['\\50%', '_', '\\a', '%']
    """
    tokens: list[str] = []
    for part in re.findall(r"\\.|.|\\", pattern, re.DOTALL):
        if part[0] == "\\" and part[1:] not in ("%", "_", "\\"):
            raise InvalidArgumentError(f"in the LIKE pattern {pattern!r:.80} a backslash may only stand before %, _ or another backslash")
        if part in ("%", "_"):
            tokens.append(part)
        elif tokens and tokens[-1][0] == "\\":
            tokens[-1] += part[-1]
        else:
            tokens.append("\\" + part[-1])
    return tokens


def like(values: pa.StringArray, pattern: str, ignores_case: bool) -> pa.Array:
    """Return whether a ``LIKE`` pattern matches all of each text. Arrow's own kernel takes a dot in the pattern for any character."""
    tokens = like_tokens(pattern)
    literals = [token[1:] for token in tokens if token[0] == "\\"]
    if not ignores_case and len(literals) == 1 and "_" not in tokens:
        is_open = (tokens[0] == "%", tokens[-1] == "%")
        return {(False, False): pc.equal, (True, False): pc.ends_with, (False, True): pc.starts_with, (True, True): pc.match_substring}[is_open](
            values, literals[0]
        )
    # Characters that are no letters of ASCII mean themselves after a backslash; letters beyond ASCII mean themselves.
    parts = ["(?s:.*)" if token == "%" else "(?s:.)" if token == "_" else re.sub(r"([\x00-\x7f])", _escaped, token[1:]) for token in tokens]
    return pc.match_substring_regex(values, rf"\A(?:{'(?i)' if ignores_case else ''}{''.join(parts)})\z")


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0].isalnum() else f"\\x{ord(match[0]):02x}"
