"""Addresses as they can be shown and kept: without the names, passwords, signatures and tokens that let somebody in."""

from __future__ import annotations

import contextlib
import os
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HIDDEN = "***"
# Shorter texts are in so many words that hiding them hides what a message says, and hides nothing.
SHORTEST_SECRET = 3
# Messages quote the starts of long texts, which may end inside of a secret.
SHORTEST_START, LONGEST_CUT = 5, 90
# The value of a parameter that is not known to be secret may be a signature, unless it is as short as this.
SHORTEST_OPAQUE = 8
# A message is looked through for what was in the arguments of a call: no more of them than this.
MAX_ARGUMENTS = 1_000

# One or more schemes, and all that may belong to an address. pathlib leaves one slash of two; file URIs have three.
_ADDRESS = re.compile(r"(?<![A-Za-z0-9+._-])[A-Za-z][A-Za-z0-9+._-]{0,40} ?:{1,3}(?:/|[^/\s:]{0,60}:{1,3}/)[^\s\"'<>`]*")
_SCHEME = re.compile(r"(?<![A-Za-z0-9+._-])([A-Za-z][A-Za-z0-9+._-]{0,40}) ?:{1,3}(/{1,3})")
# What stands between the addresses of a chain; of two colons before slashes one is too many.
_CHAIN = re.compile("::(?!/)")
# Signs after an address that belong to the sentence around it.
_AFTER_ADDRESS = ".,:;!)]}"
_HOST_AND_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:@]*)(?::(?:\d{0,5}|port))?")
# What comes before the sign is the name of a container.
_WITH_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
# jdbc:oracle:thin:scott/tiger@//host and its like, which are no URLs.
_JDBC_USER = re.compile(r"(\bjdbc:(?:[A-Za-z0-9]+:){1,3})[^\s@\"']{0,1000}@", re.IGNORECASE)
_SECRET_NAME = (
    r"[\w.-]{0,40}(?:passw(?:or)?d|pwd|passphrase|secret|token|signature|credential|(?:account|access|api|private|shared)[_-]?key)[\w.-]{0,40}"
    r"|sig|sas|pass"
)
_SECRET_VALUE = r"(\{[^}]*\}|'[^']*'|\"[^\"]*\"|(?:(?!%26)[^\s&;,'\")\]}])+)"
_PARAMETER = re.compile(rf"(?:(?<![\w/.-])|(?<=%26)|(?<=%3F))({_SECRET_NAME})(=|%3D){_SECRET_VALUE}", re.IGNORECASE)
_IS_SECRET_NAME = re.compile(_SECRET_NAME, re.IGNORECASE)
# One of these is in each such name. Looking for them first takes a thirtieth of the time: errors may have much text in them.
_IN_SECRET_NAMES = ("pass", "pwd", "secret", "token", "sig", "credential", "key", "sas")
# Where errors of Python keep what they are about, besides their arguments and attributes of their own.
_SLOTS = ("filename", "filename2", "strerror", "object", "reason", "msg", "name", "path")
# A name and a password before a host, where there is no scheme: //user:password@host/x, user:password@host:/x.
_USER_WITHOUT_SCHEME = re.compile(r"\s*(?!jdbc:)(?:/{2,})?([^/\s:@]*:[^\s@]*(?:@[^\s@/]*)*)@")


def redacted(text: str) -> str:
    """Return a text with all addresses in it as they can be shown: without users, passwords, queries and fragments.

    Parameters
    ----------
    text
        An address, or a message that quotes some.

    Examples
    --------
    >>> redacted("cannot read https://me:secret@host/a.csv?sig=abc: gone"), redacted("S3A://KEY:SECRET@bucket/a")
    ('cannot read https://host/a.csv: gone', 'S3A://bucket/a')
    >>> redacted("abfss://box@account.dfs.core.windows.net/a?sv=1&sig=x"), redacted("jdbc:sqlserver://host;user=me;password=secret;")
    ('abfss://box@account.dfs.core.windows.net/a', 'jdbc:sqlserver://host;user=me;password=***;')

    Where a password may have any signs in it, nothing is shown:

    >>> redacted("http://me:pass/word@host/a.csv")
    'http://***'
    """
    if any(sign in text for sign in ("@", "=", "?", "#", "%3")):
        text = _ADDRESS.sub(_shown_match, text) if ":/" in text else text
        text = _JDBC_USER.sub(rf"\1{HIDDEN}@", text) if "jdbc:" in text.lower() else text
        text = _PARAMETER.sub(rf"\1\2{HIDDEN}", text) if _may_name_secrets(text) else text
    return text


def without_secrets(address: str) -> str:
    """Return an address as it can be shown; unlike a text around one, it may have blanks and quotes in it.

    Examples
    --------
    >>> without_secrets("https://me:my secret@host/a.csv"), without_secrets("memory:///a"), without_secrets("//me:secret@host/a")
    ('https://host/a.csv', 'memory:///a', '//***@host/a')
    """
    start = _SCHEME.search(address)
    is_address = start is not None and (start.start() == len(address) - len(address.lstrip(" \t\r\n\ufeff")) or "::" in address)
    shown = _shown(address) if is_address else address
    found = None if is_address else _user_without_scheme(address)
    return redacted(shown.replace(found, HIDDEN) if found else shown)


def is_unclear(address: str) -> bool:
    """Return whether a password in an address has signs in it that end the name of a host, so that nobody reads it as it is meant.

    Examples
    --------
    >>> is_unclear("ftp://me:pass#word@host/a"), is_unclear("ftp://me:pass%23word@host/a"), is_unclear("memory://a:b/c")
    (True, False, False)
    """
    found = [(start.group(1), part[start.end() :]) for part in _CHAIN.split(address) if (start := _SCHEME.search(part))]
    return any("@" in rest and _after_user(scheme, rest)[1] for scheme, rest in found)


def has_user(text: str) -> bool:
    """Return whether a text without a scheme begins as addresses do that have a name and a password in them.

    Examples
    --------
    >>> has_user("//me:secret@host/a.csv"), has_user("me:secret@host:/a.csv"), has_user("/data/a:b@c"), has_user("data/a@b")
    (True, True, False, False)
    """
    return _user_without_scheme(text) is not None


def _user_without_scheme(text: str) -> str | None:
    found = _USER_WITHOUT_SCHEME.match(text)
    # A slash, but for those of the password after its colon, would be of a path.
    return found.group(1) if found else None


def _may_name_secrets(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _IN_SECRET_NAMES)


def _shown_match(match: re.Match[str]) -> str:
    text = match.group()
    address = text.rstrip(_AFTER_ADDRESS)
    return _shown(address) + text[len(address) :]


def _shown(address: str) -> str:
    """Each address of a chain, such as ``simplecache::s3://bucket/a``, as it can be shown."""
    return "::".join(map(_shown_one, _CHAIN.split(address)))


def _shown_one(address: str) -> str:
    start = _SCHEME.search(address)
    if start is None:
        return address
    rest = address[start.end() :]
    host, hidden = _after_user(start.group(1), rest)
    if hidden:
        return f"{address[: start.end()]}{HIDDEN}"
    return address[: start.end()] + re.split(r"[?#]", host, maxsplit=1)[0]


def _after_user(scheme: str, rest: str) -> tuple[str, bool]:
    """What follows the user of an address, and whether it may have a part of a password in it, so that none of it can be shown."""
    head = re.split(r"[/?#]", rest, maxsplit=1)[0]
    before, at, after = head.rpartition("@")
    if at:
        if ":" in before.partition("@")[0] and "@" in rest[len(head) :]:
            return rest, True
        is_container = scheme.lower() in _WITH_CONTAINERS and ":" not in before
        return (rest if is_container else after + rest[len(head) :]), False
    if "@" in rest and (rest[len(head) : len(head) + 1] == "#" or head.endswith(":")):
        # Nobody ends a port so.
        return rest, ":" in head
    # A colon that begins no port begins a password, with signs in it that end the name of a host, or cut off before its end by who quotes it.
    return rest, ":" in head and _HOST_AND_PORT.fullmatch(head) is None


def secrets_of(text: str) -> set[str]:
    """Return what of an address, or of a text with some, must be shown nowhere, in all forms in which libraries quote it.

    Examples
    --------
    >>> sorted(secrets_of("https://me:pa%40ss@host/a.csv?part=1&sig=xyz"))
    ['me%3Apa%40ss', 'me:pa%40ss', 'me:pa@ss', 'pa%40ss', 'pa@ss', 'xyz']
    >>> secrets_of("s3://bucket/a@b.csv")
    set()
    """
    found: set[str] = set()
    if ":/" in text and _SCHEME.search(text):
        # As one address with all signs that are in it, and as a text around some.
        for address in {text, *_ADDRESS.findall(text)}:
            for part in _CHAIN.split(address):
                found.update(_secrets_of_one(part))
    if "://" not in text and _SCHEME.match(text.lstrip()) is None and (user := _user_without_scheme(text)):
        found.update(_with_pieces(user))
    if _may_name_secrets(text):
        found.update(match.group(3).strip("{}'\"") for match in _PARAMETER.finditer(text))
    found.update(user.rpartition(":")[2].rstrip("@").rpartition("/")[2] for user in _jdbc_users(text))
    return {form for secret in found for form in _forms(secret) if len(form) >= SHORTEST_SECRET}


def _jdbc_users(text: str) -> Iterator[str]:
    return (match.group() for match in _JDBC_USER.finditer(text)) if "jdbc:" in text.lower() else iter(())


def _secrets_of_one(address: str) -> Iterator[str]:
    start = _SCHEME.search(address)
    if start is None:
        return
    rest = address[start.end() :]
    host, hidden = _after_user(start.group(1), rest)
    user = rest[: rest.rfind("@")] if hidden else rest[: len(rest) - len(host)].rstrip("@")
    yield from _with_pieces(user)
    for part in re.split(r"[?#]", rest)[1:]:
        for name, value in urllib.parse.parse_qsl(part.replace(";", "&"), keep_blank_values=True):
            if _IS_SECRET_NAME.fullmatch(name) or len(value) >= SHORTEST_OPAQUE:
                yield value


def _with_pieces(user: str) -> Iterator[str]:
    """A user with a password, the password, and the pieces that whoever reads it otherwise takes for a host or a port."""
    if not user:
        return
    name, colon, password = user.partition(":")
    yield user
    if colon:
        yield password
        yield from re.split(r"[:@/?#]", password)
        yield from re.split(r"[/?#]", password)
    else:
        yield name


def _forms(secret: str) -> set[str]:
    plain = urllib.parse.unquote(secret)
    return {secret, plain, urllib.parse.unquote_plus(secret), urllib.parse.quote(plain, safe="") if plain != secret else secret}


def secrets_in(arguments: Iterable[Any], known: Iterable[str] = ()) -> list[str]:
    """Return what of the arguments of a call must be shown nowhere, longest first.

    Parameters
    ----------
    arguments
        Texts and paths, and lists and dicts of these; everything else has no address.
    known
        What else is secret.
    """
    found = {secret for secret in known if len(secret) >= SHORTEST_SECRET}
    for text in _texts(arguments):
        if ":" in text or "=" in text:
            found |= secrets_of(text)
    return sorted(found, key=len, reverse=True)


def _texts(arguments: Iterable[Any]) -> Iterator[str]:
    waiting, seen = list(arguments), 0
    while waiting and seen < MAX_ARGUMENTS:
        value, seen = waiting.pop(), seen + 1
        if isinstance(value, str):
            yield value
        elif isinstance(value, (bytes, os.PathLike)):
            try:
                yield os.fsdecode(value)
            except (TypeError, ValueError):
                continue
        elif isinstance(value, Mapping):
            for name, item in list(value.items())[:MAX_ARGUMENTS]:
                waiting.append(item)
                if isinstance(name, str) and isinstance(item, str):
                    # Options of drivers, and of file systems, have passwords under their names.
                    waiting.append(f"{name}={item}")
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting.extend(list(value)[:MAX_ARGUMENTS])


def hide(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without some secrets, whatever upper and lower case they are in, and without those of addresses in it."""
    for secret in secrets:
        text = re.sub(re.escape(secret), HIDDEN, text, flags=re.IGNORECASE)
        if len(secret) <= LONGEST_CUT and secret[:SHORTEST_START].lower() in text.lower():
            text = re.sub(_start_of(secret), HIDDEN, text, flags=re.IGNORECASE)
    return redacted(text)


def _start_of(secret: str) -> str:
    """A pattern of the starts of a secret that a message has which cuts off what it quotes."""
    rest = "".join(f"(?:{re.escape(character)}" for character in secret[SHORTEST_START:])
    return f"{re.escape(secret[:SHORTEST_START])}{rest}{')?' * len(secret[SHORTEST_START:])}(?!\\w)"


def hide_in_error(error: BaseException, secrets: Iterable[str] = ()) -> None:
    """Take secrets out of an error, and of those that led to it: changed in place, and left out where they cannot be changed.

    Parameters
    ----------
    error
        Any error, of a library too.
    secrets
        What must not be shown, longest first; addresses are redacted in any case.
    """
    secrets, seen, waiting = list(secrets), {id(error)}, [error]
    while waiting:
        current = waiting.pop()
        _hide_in_one(current, secrets)
        for link in ("__cause__", "__context__"):
            below = _member(current, link)
            if below is None or id(below) in seen:
                continue
            seen.add(id(below))
            _hide_in_one(below, secrets)
            if _shows_any(below, secrets):
                _unlink(current, below)
            else:
                waiting.append(below)


def _unlink(error: BaseException, below: BaseException) -> None:
    # By the base class, whatever a class of the user's has made of its members.
    hidden = BaseException.__getattribute__(error, "__suppress_context__")
    for link in ("__cause__", "__context__"):
        if _member(error, link) is below:
            BaseException.__setattr__(error, link, None)
    BaseException.__setattr__(error, "__suppress_context__", hidden)


def _member(error: BaseException, name: str) -> Any:
    """A member of an error; None where there is none, or a class of the user's fails to tell it."""
    try:
        return getattr(error, name, None)
    except Exception:
        return None


def _hide_in_one(error: BaseException, secrets: list[str]) -> None:
    names = ["args", *(_member(error, "__dict__") or ()), "filename", "filename2", "strerror", "object", "reason", "msg", "name", "path"]
    for name in dict.fromkeys(names):
        old = _member(error, name)
        new = _hidden_in(old, secrets)
        if new is not old:
            # What cannot be changed shows itself, and the error is left out.
            with contextlib.suppress(Exception):
                setattr(error, name, new)


def _hidden_in(value: Any, secrets: list[str]) -> Any:
    """A value of an error without secrets; the same object where it has none."""
    if isinstance(value, str):
        new: Any = hide(value, secrets)
    elif isinstance(value, bytes):
        text = value.decode("utf-8", "surrogateescape")
        new = hide(text, secrets).encode("utf-8", "surrogateescape")
    elif type(value) in (list, tuple):
        items = [_hidden_in(item, secrets) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    elif type(value) is dict:
        found = {name: _hidden_in(item, secrets) for name, item in value.items()}
        return value if all(found[name] is item for name, item in value.items()) else found
    elif isinstance(value, BaseException):
        # What cannot be taken out of an error is in none that has it.
        return HIDDEN if _shows_any(value, secrets) else value
    else:
        return value
    return value if new == value else new


def _shows_any(error: BaseException, secrets: list[str]) -> bool:
    try:
        shown = f"{error} {error!r} {vars(error)}"
    except Exception:
        return True
    return hide(shown, secrets) != shown
