"""Functions that find and remove user names, passwords, signatures and tokens in addresses, for messages and stored plans."""

from __future__ import annotations

import contextlib
import os
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HIDDEN = "***"
# Shorter secrets occur in many words: hiding them would garble messages and protect nothing.
SHORTEST_SECRET = 3
# Messages quote the beginning of long strings, which may end within a secret: the shortest beginning of a secret that is hidden, and the longest
# secret whose beginnings are searched for.
SHORTEST_START, LONGEST_CUT = 5, 90
# The value of a parameter that is not known to be secret may be a signature if it is at least so long.
SHORTEST_OPAQUE = 8
# How many arguments of a call are searched for secrets.
MAX_ARGUMENTS = 1_000

# One or more schemes, and everything that may belong to an address. pathlib turns two slashes into one; file URIs have three.
_ADDRESS = re.compile(r"(?<![A-Za-z0-9+._-])[A-Za-z][A-Za-z0-9+._-]{0,40} ?:{1,3}(?:/|[^/\s:]{0,60}:{1,3}/)[^\s\"'<>`]*")
_SCHEME = re.compile(r"(?<![A-Za-z0-9+._-])([A-Za-z][A-Za-z0-9+._-]{0,40}) ?:{1,3}(/{1,3})")
# The separator of chained addresses; two colons before slashes are a typing error.
_CHAIN = re.compile("::(?!/)")
# Punctuation after an address that belongs to the sentence around it.
_AFTER_ADDRESS = ".,:;!)]}"
_HOST_AND_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:@]*)(?::(?:\d{0,5}|port))?")
# Schemes in which the part before "@" is the name of a container.
_WITH_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
# jdbc:oracle:thin:scott/tiger@//host and the like, which are not URLs.
_JDBC_USER = re.compile(r"(\bjdbc:(?:[A-Za-z0-9]+:){1,3})[^\s@\"']{0,1000}@", re.IGNORECASE)
_SECRET_NAME = (
    r"[\w.-]{0,40}(?:passw(?:or)?d|pwd|passphrase|secret|token|signature|credential|(?:account|access|api|private|shared)[_-]?key)[\w.-]{0,40}"
    r"|sig|sas|pass"
)
_SECRET_VALUE = r"(\{[^}]*\}|'[^']*'|\"[^\"]*\"|(?:(?!%26)[^\s&;,'\")\]}])+)"
_PARAMETER = re.compile(rf"(?:(?<![\w/.-])|(?<=%26)|(?<=%3F))({_SECRET_NAME})(=|%3D){_SECRET_VALUE}", re.IGNORECASE)
_IS_SECRET_NAME = re.compile(_SECRET_NAME, re.IGNORECASE)
# Each name of a secret contains one of these strings. Searching for them first takes a thirtieth of the time: errors may contain long strings.
_IN_SECRET_NAMES = ("pass", "pwd", "secret", "token", "sig", "credential", "key", "sas")
# Attributes of Python's errors that are not in their `__dict__`.
_SLOTS = ("filename", "filename2", "strerror", "object", "reason", "msg", "name", "path")
# A name and a password before a host, where there is no scheme: //user:password@host/x, user:password@host:/x.
_USER_WITHOUT_SCHEME = re.compile(r"\s*(?!jdbc:)(?:/{2,})?([^/\s:@]*:[^\s@]*(?:@[^\s@/]*)*)@")


def redacted(text: str) -> str:
    """Return a string in which all addresses are safe to display: without users, passwords, queries and fragments.

    Parameters
    ----------
    text
        An address, or a message that quotes addresses.

    Examples
    --------
    >>> redacted("cannot read https://me:secret@host/a.csv?sig=abc: gone"), redacted("S3A://KEY:SECRET@bucket/a")
    ('cannot read https://host/a.csv: gone', 'S3A://bucket/a')
    >>> redacted("abfss://box@account.dfs.core.windows.net/a?sv=1&sig=x"), redacted("jdbc:sqlserver://host;user=me;password=secret;")
    ('abfss://box@account.dfs.core.windows.net/a', 'jdbc:sqlserver://host;user=me;password=***;')

    If the password may contain delimiters, the address is removed except for its scheme:

    >>> redacted("http://me:pass/word@host/a.csv")
    'http://***'
    """
    if any(sign in text for sign in ("@", "=", "?", "#", "%3")):
        text = _ADDRESS.sub(_redacted_match, text) if ":/" in text else text
        text = _JDBC_USER.sub(rf"\1{HIDDEN}@", text) if "jdbc:" in text.lower() else text
        text = _PARAMETER.sub(rf"\1\2{HIDDEN}", text) if _may_name_secrets(text) else text
    return text


def without_secrets(address: str) -> str:
    """Return an address that is safe to display. Unlike an address within a message, it may contain blanks and quotes.

    Examples
    --------
    >>> without_secrets("https://me:my secret@host/a.csv"), without_secrets("memory:///a"), without_secrets("//me:secret@host/a")
    ('https://host/a.csv', 'memory:///a', '//***@host/a')
    """
    start = _SCHEME.search(address)
    is_address = start is not None and (start.start() == len(address) - len(address.lstrip(" \t\r\n\ufeff")) or "::" in address)
    text = _redacted_chain(address) if is_address else address
    user = None if is_address else _user_without_scheme(address)
    return redacted(text.replace(user, HIDDEN) if user else text)


def is_unclear(address: str) -> bool:
    """Return whether an address contains a password with delimiters of host names, so that it cannot be parsed as intended.

    Examples
    --------
    >>> is_unclear("ftp://me:pass#word@host/a"), is_unclear("ftp://me:pass%23word@host/a"), is_unclear("memory://a:b/c")
    (True, False, False)
    """
    parts = [(start.group(1), part[start.end() :]) for part in _CHAIN.split(address) if (start := _SCHEME.search(part))]
    return any("@" in rest and _after_user(scheme, rest)[1] for scheme, rest in parts)


def has_user(text: str) -> bool:
    """Return whether a string without a scheme begins with a user name and a password, as addresses do.

    Examples
    --------
    >>> has_user("//me:secret@host/a.csv"), has_user("me:secret@host:/a.csv"), has_user("/data/a:b@c"), has_user("data/a@b")
    (True, True, False, False)
    """
    return _user_without_scheme(text) is not None


def _user_without_scheme(text: str) -> str | None:
    match = _USER_WITHOUT_SCHEME.match(text)
    # Slashes are allowed in the password only; otherwise this is a path.
    return match.group(1) if match else None


def _may_name_secrets(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _IN_SECRET_NAMES)


def _redacted_match(match: re.Match[str]) -> str:
    text = match.group()
    address = text.rstrip(_AFTER_ADDRESS)
    return _redacted_chain(address) + text[len(address) :]


def _redacted_chain(address: str) -> str:
    """Return a chain of addresses, such as ``simplecache::s3://bucket/a``, with each of them redacted."""
    return "::".join(map(_redacted_one, _CHAIN.split(address)))


def _redacted_one(address: str) -> str:
    start = _SCHEME.search(address)
    if start is None:
        return address
    rest = address[start.end() :]
    host, hidden = _after_user(start.group(1), rest)
    if hidden:
        return f"{address[: start.end()]}{HIDDEN}"
    return address[: start.end()] + re.split(r"[?#]", host, maxsplit=1)[0]


def _after_user(scheme: str, rest: str) -> tuple[str, bool]:
    """Return an address without scheme and user, and whether it may contain a part of a password, so that nothing of it is safe to display."""
    head = re.split(r"[/?#]", rest, maxsplit=1)[0]
    before, at, after = head.rpartition("@")
    if at:
        if ":" in before.partition("@")[0] and "@" in rest[len(head) :]:
            return rest, True
        is_container = scheme.lower() in _WITH_CONTAINERS and ":" not in before
        return (rest if is_container else after + rest[len(head) :]), False
    if "@" in rest and (rest[len(head) : len(head) + 1] == "#" or head.endswith(":")):
        # In an address without a password, a host or port is followed neither by a fragment with an "@" nor by a colon without a number.
        return rest, ":" in head
    # A colon that no port follows starts a password that contains delimiters, or that was cut off where it was quoted.
    return rest, ":" in head and _HOST_AND_PORT.fullmatch(head) is None


def secrets_of(text: str) -> set[str]:
    """Return the secrets of an address, or of a message that quotes addresses, in all forms in which libraries quote them.

    Examples
    --------
    >>> sorted(secrets_of("https://me:pa%40ss@host/a.csv?part=1&sig=xyz"))
    ['me%3Apa%40ss', 'me:pa%40ss', 'me:pa@ss', 'pa%40ss', 'pa@ss', 'xyz']
    >>> secrets_of("s3://bucket/a@b.csv")
    set()
    """
    secrets: set[str] = set()
    if ":/" in text and _SCHEME.search(text):
        # The string is read both as one address and as a message that quotes addresses.
        for address in {text, *_ADDRESS.findall(text)}:
            for part in _CHAIN.split(address):
                secrets.update(_secrets_of_one(part))
    if "://" not in text and _SCHEME.match(text.lstrip()) is None and (user := _user_without_scheme(text)):
        secrets.update(_password_parts(user))
    if _may_name_secrets(text):
        secrets.update(match.group(3).strip("{}'\"") for match in _PARAMETER.finditer(text))
    if "jdbc:" in text.lower():
        secrets.update(match.group().rpartition(":")[2].rstrip("@").rpartition("/")[2] for match in _JDBC_USER.finditer(text))
    return {form for secret in secrets for form in _forms(secret) if len(form) >= SHORTEST_SECRET}


def _secrets_of_one(address: str) -> Iterator[str]:
    start = _SCHEME.search(address)
    if start is None:
        return
    rest = address[start.end() :]
    host, hidden = _after_user(start.group(1), rest)
    user = rest[: rest.rfind("@")] if hidden else rest[: len(rest) - len(host)].rstrip("@")
    yield from _password_parts(user)
    for part in re.split(r"[?#]", rest)[1:]:
        for name, value in urllib.parse.parse_qsl(part.replace(";", "&"), keep_blank_values=True):
            if _IS_SECRET_NAME.fullmatch(name) or len(value) >= SHORTEST_OPAQUE:
                yield value


def _password_parts(user: str) -> Iterator[str]:
    """Yield a user name with its password, the password, and the parts of it that another parser would take for a host or a port."""
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
    """Return the secrets in the arguments of a call, longest first.

    Parameters
    ----------
    arguments
        The arguments. Only strings and paths, and lists and dicts of strings and paths, are searched.
    known
        Further secrets.
    """
    secrets = {secret for secret in known if len(secret) >= SHORTEST_SECRET}
    for text in _texts(arguments):
        if ":" in text or "=" in text:
            secrets |= secrets_of(text)
    return sorted(secrets, key=len, reverse=True)


def _texts(arguments: Iterable[Any]) -> Iterator[str]:
    pending, seen = list(arguments), 0
    while pending and seen < MAX_ARGUMENTS:
        value, seen = pending.pop(), seen + 1
        if isinstance(value, str):
            yield value
        elif isinstance(value, (bytes, os.PathLike)):
            try:
                yield os.fsdecode(value)
            except (TypeError, ValueError):
                continue
        elif isinstance(value, Mapping):
            for name, item in list(value.items())[:MAX_ARGUMENTS]:
                pending.append(item)
                if isinstance(name, str) and isinstance(item, str):
                    # In options of drivers and file systems, the name says that the value is a password.
                    pending.append(f"{name}={item}")
        elif isinstance(value, (list, tuple, set, frozenset)):
            pending.extend(list(value)[:MAX_ARGUMENTS])


def hide(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a string without the given secrets, in upper or lower case, and with the addresses in it redacted."""
    for secret in secrets:
        text = re.sub(re.escape(secret), HIDDEN, text, flags=re.IGNORECASE)
        if len(secret) <= LONGEST_CUT and secret[:SHORTEST_START].lower() in text.lower():
            text = re.sub(_start_of(secret), HIDDEN, text, flags=re.IGNORECASE)
    return redacted(text)


def _start_of(secret: str) -> str:
    """Return a pattern for all prefixes of a secret that have a minimum length: messages truncate what they quote."""
    rest = "".join(f"(?:{re.escape(character)}" for character in secret[SHORTEST_START:])
    return f"{re.escape(secret[:SHORTEST_START])}{rest}{')?' * len(secret[SHORTEST_START:])}(?!\\w)"


def hide_in_error(error: BaseException, secrets: Iterable[str] = ()) -> None:
    """Remove secrets from an error and from the errors that caused it. They are changed in place; a cause that cannot be changed is dropped.

    Parameters
    ----------
    error
        Any error, including those of libraries.
    secrets
        The secrets, longest first. Addresses are redacted even if there are none.
    """
    secrets, seen, pending = list(secrets), {id(error)}, [error]
    while pending:
        current = pending.pop()
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
                pending.append(below)


def _unlink(error: BaseException, below: BaseException) -> None:
    # A user's class may override attribute access, so the methods of the base class are called.
    hidden = BaseException.__getattribute__(error, "__suppress_context__")
    for link in ("__cause__", "__context__"):
        if _member(error, link) is below:
            BaseException.__setattr__(error, link, None)
    BaseException.__setattr__(error, "__suppress_context__", hidden)


def _member(error: BaseException, name: str) -> Any:
    """Return an attribute of an error; None if it does not exist, or if a user's class fails to return it."""
    try:
        return getattr(error, name, None)
    except Exception:
        return None


def _hide_in_one(error: BaseException, secrets: list[str]) -> None:
    for name in dict.fromkeys(["args", *(_member(error, "__dict__") or ()), *_SLOTS]):
        old = _member(error, name)
        new = _hidden_in(old, secrets)
        if new is not old:
            # If an attribute of a cause cannot be set, the caller drops the cause.
            with contextlib.suppress(Exception):
                setattr(error, name, new)


def _hidden_in(value: Any, secrets: list[str]) -> Any:
    """Return the value of an attribute of an error without secrets; the same object if there are none."""
    if isinstance(value, str):
        new: Any = hide(value, secrets)
    elif isinstance(value, bytes):
        text = value.decode("utf-8", "surrogateescape")
        new = hide(text, secrets).encode("utf-8", "surrogateescape")
    elif type(value) in (list, tuple):
        items = [_hidden_in(item, secrets) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    elif type(value) is dict:
        cleaned = {name: _hidden_in(item, secrets) for name, item in value.items()}
        return value if all(cleaned[name] is item for name, item in value.items()) else cleaned
    elif isinstance(value, BaseException):
        # Errors that other errors hold are not cleaned: one that shows a secret is replaced as a whole.
        return HIDDEN if _shows_any(value, secrets) else value
    else:
        return value
    return value if new == value else new


def _shows_any(error: BaseException, secrets: list[str]) -> bool:
    try:
        text = f"{error} {error!r} {vars(error)}"
    except Exception:
        return True
    return hide(text, secrets) != text
