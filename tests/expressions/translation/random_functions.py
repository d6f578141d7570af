"""Random Python functions of a value or of a row, as text: all operations that are translated, and some that are not."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType

WORDS = ["a", "ab", "", "é", "12", " ", "b", "ß", ",", "A"]
TABLE = {"a": 1, "ab": -5, "": 0, "é": 2**40, "12": 7, "b": True + 0}
FLOATS_OF = {1: 0.5, 0: -0.0, -3: float("nan"), 2**53: 1e300}
TEXTS_OF = {"a": "x", "b": "", "é": "ü", "12": "12"}
GLOBALS = {"math": math, "WORDS": WORDS, "TABLE": TABLE, "FLOATS_OF": FLOATS_OF, "TEXTS_OF": TEXTS_OF, "LIMIT": 3, "NAMES": {"a", "é", "B", "12"}}

INTS = [0, 1, -1, 2, 3, 7, -7, 10, 255, -256, 10**6, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), 3037000500]
FLOATS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 0.1, -7.3, 2.675, 1.005, 1e-5, 123456.789, 1e16, 2.0**53, 2.0**63, -(2.0**63), 1e300, 5e-324),
    *(float("nan"), float("inf"), float("-inf")),
]
TEXTS = [
    *("", "a", "ab", "A", "aB c", " pad ", "\ttab\n", "é", "Ünï", "ß", "ŉ", "İ", "12", "-7", "+3", "007", "1.5", "-0.0", "1e5", "nan", " 4 ", "1_0"),
    *("٣", "a,b", ",", "a,,b,", "x" * 40, "😀a", "\x1f", "\u2003", "Straße", "b", "\0", "12345678901234567890"),
]
TIMES = [
    datetime.datetime(2024, 2, 29, 23, 59, 59, 999999),
    datetime.datetime(1969, 12, 31, 0, 0, 0, 1),
    datetime.datetime(1, 1, 1),
    datetime.datetime(9999, 12, 31, 12),
    datetime.datetime(2000, 6, 15, 7, 8, 9),
]
VALUES: dict[str, Sequence[Any]] = {"int": INTS, "float": FLOATS, "str": TEXTS, "datetime": TIMES}
TYPES: dict[str, ColumnType] = {"int": INT, "float": FLOAT, "str": STR, "datetime": DATETIME}


@attrs.frozen
class RandomFunction:
    """A function, its text, and the columns that it takes: one, or those of a row."""

    function: Callable[[Any], Any]
    text: str
    kinds: tuple[str, ...]
    names: tuple[str, ...] | None
    columns: tuple[list[Any], ...]


class Writer:
    """Writes expressions of one kind from a source of random numbers."""

    def __init__(self, chance: random.Random, variables: dict[str, list[str]]) -> None:
        self.chance, self.variables = chance, variables

    def write(self, kind: str, depth: int) -> str:
        """Return an expression of a kind, of at most some depth."""
        leaves = self.variables.get(kind, [])
        if depth <= 0 or self.chance.random() < 0.15:
            return self.chance.choice(leaves) if leaves and self.chance.random() < 0.8 else self.constant(kind)
        return getattr(self, f"_{kind}")(depth - 1)

    def constant(self, kind: str) -> str:
        """Return a constant of a kind."""
        pick = self.chance.choice
        if kind == "int":
            return repr(pick([0, 1, 2, 3, -1, 7, 10, 100, 2**31, -5]))
        if kind == "float":
            return pick(["0.5", "2.0", "-1.5", "0.1", "1e10", "-0.0", "0.0", "3.0", "float('inf')"])
        if kind == "str":
            return repr(pick(["", "a", "b", "é", "12", " ", ",", "ab", "x"]))
        return pick(["True", "False"])

    def _number(self, depth: int) -> str:
        return self.write(self.chance.choice(["int", "int", "float", "bool"]), depth)

    def _condition(self, kind: str, depth: int) -> str:
        return f"({self.write(kind, depth)} if {self.write('bool', depth)} else {self.write(kind, depth)})"

    def _int(self, depth: int) -> str:
        def a() -> str:
            return self.write("int", depth)

        def text() -> str:
            return self.write("str", depth)

        def real() -> str:
            return self.write("float", depth)

        choices: list[Callable[[], str]] = [
            *[lambda: f"({a()} {self.chance.choice('+-*')} {a()})"] * 4,
            *[lambda: f"({a()} {self.chance.choice(['//', '%'])} {a()})"] * 2,
            lambda: f"({a()} {self.chance.choice('&|^')} {a()})",
            lambda: f"({a()} ** {self.chance.choice([0, 1, 2, 3])})",
            lambda: f"(-{a()})",
            lambda: f"abs({a()})",
            lambda: f"len({text()})",
            lambda: f"int({self.write(self.chance.choice(['float', 'str', 'bool', 'int']), depth)})",
            lambda: f"round({real()})",
            lambda: f"{self.chance.choice(['min', 'max'])}({a()}, {a()})",
            lambda: f"{self.chance.choice(['min', 'max'])}([{a()}, {a()}, {a()}])",
            lambda: f"sum([{a()}, {self.write('bool', depth)}])",
            lambda: f"math.{self.chance.choice(['floor', 'ceil', 'trunc'])}({real()})",
            lambda: f"TABLE[{text()}]",
            lambda: f"TABLE.get({text()}, {a()})",
            lambda: f"{text()}.{self.chance.choice(['find', 'rfind', 'count'])}({self.constant('str')})",
            lambda: f"len({text()}.split({self.chance.choice(['', repr(','), repr('a')])}))",
            lambda: f"({a()} + {self.write('bool', depth)})",
            lambda: self._condition("int", depth),
        ]
        if self.variables.get("datetime"):
            moment = self.chance.choice(self.variables["datetime"])
            part = self.chance.choice(["year", "month", "day", "hour", "minute", "second", "microsecond", "weekday()", "isoweekday()"])
            choices += [lambda: f"{moment}.{part}"] * 6
        return self.chance.choice(choices)()

    def _float(self, depth: int) -> str:
        def a() -> str:
            return self.write("float", depth)

        def number() -> str:
            return self._number(depth)

        functions = ["sqrt", "exp", "log", "log10", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "fabs"]
        choices: list[Callable[[], str]] = [
            *[lambda: f"({a()} {self.chance.choice('+-*')} {number()})"] * 3,
            *[lambda: f"({number()} / {number()})"] * 2,
            lambda: f"({a()} {self.chance.choice(['//', '%'])} {number()})",
            lambda: f"({number()} {self.chance.choice(['//', '%'])} {a()})",
            lambda: f"({a()} ** {self.chance.choice(['2', '3', '-1', '0.5', '0', '2.0'])})",
            lambda: f"(-{a()})",
            lambda: f"abs({a()})",
            lambda: f"float({self.write(self.chance.choice(['int', 'str', 'bool', 'float']), depth)})",
            *[lambda: f"round({a()}, {self.chance.choice([0, 1, 2, 5])})"] * 2,
            lambda: f"{self.chance.choice(['min', 'max'])}({a()}, {a()})",
            lambda: f"{self.chance.choice(['min', 'max'])}({a()}, {self.write('int', depth)})",
            *[lambda: f"math.{self.chance.choice(functions)}({number()})"] * 2,
            lambda: f"FLOATS_OF[{self.write('int', depth)}]",
            lambda: f"FLOATS_OF.get({self.write('int', depth)}, {a()})",
            lambda: self._condition("float", depth),
        ]
        return self.chance.choice(choices)()

    def _str(self, depth: int) -> str:
        def a() -> str:
            return self.write("str", depth)

        plain = ["lower", "upper", "title", "capitalize", "swapcase", "casefold", "strip", "lstrip", "rstrip"]
        choices: list[Callable[[], str]] = [
            lambda: f"({a()} + {a()})",
            lambda: f"({a()} * {self.chance.choice([0, 1, 2, 3, -1])})",
            *[lambda: f"{a()}.{self.chance.choice(plain)}()"] * 3,
            lambda: f"{a()}.{self.chance.choice(['strip', 'lstrip', 'rstrip'])}({self.chance.choice([repr('a'), repr(' a'), repr('')])})",
            lambda: f"{a()}.{self.chance.choice(['removeprefix', 'removesuffix'])}({self.constant('str')})",
            lambda: f"{a()}.replace({self.chance.choice([repr('a'), repr('é'), repr(' ')])}, {self.constant('str')})",
            lambda: f"{a()}.replace('a', {self.constant('str')}, {self.chance.choice([0, 1, 2])})",
            lambda: f"{a()}.zfill({self.chance.choice([0, 3, 6])})",
            lambda: f"{a()}[{self.chance.choice(['0', '-1', '1', '2', '-3'])}]",
            lambda: f"{a()}[{self.chance.choice([':2', '1:', '-2:', ':-1', '1:3', '::', '5:2', '-3:-1'])}]",
            lambda: f"{a()}.split({self.chance.choice(['', repr(','), repr('a')])})[{self.chance.choice([0, -1, 1])}]",
            lambda: f"{a()}.split(',', 1)[0]",
            lambda: f"str({self._number(depth)})",
            lambda: f"{self.chance.choice(['min', 'max'])}({a()}, {a()})",
            lambda: f"TEXTS_OF.get({a()}, {a()})",
            lambda: f"TEXTS_OF[{a()}]",
            lambda: self._condition("str", depth),
        ]
        return self.chance.choice(choices)()

    def _bool(self, depth: int) -> str:
        def text() -> str:
            return self.write("str", depth)

        comparison = ["<", "<=", ">", ">=", "==", "!="]
        anything = self.chance.choice(["int", "float", "str", "bool"])
        choices: list[Callable[[], str]] = [
            *[lambda: f"({self._number(depth)} {self.chance.choice(comparison)} {self._number(depth)})"] * 4,
            *[lambda: f"({text()} {self.chance.choice(comparison)} {text()})"] * 2,
            lambda: f"({self.write('bool', depth)} {self.chance.choice(['and', 'or'])} {self.write('bool', depth)})",
            lambda: f"({self.write(anything, depth)} {self.chance.choice(['==', '!='])} {self.write('str', depth)})",
            lambda: f"(not {self.write(anything, depth)})",
            lambda: f"bool({self.write(anything, depth)})",
            lambda: f"({self.constant('str')} {self.chance.choice(['in', 'not in'])} {text()})",
            lambda: f"({text()} in {self.chance.choice(['NAMES', 'WORDS', 'TABLE', repr(('a', 'é')), repr({'b', '12', 1})])})",
            lambda: f"({self.write('int', depth)} in {self.chance.choice(['(1, 2, 3)', '{0, 1.0, -7}', 'FLOATS_OF', '[True, 2**53, 2.5]'])})",
            lambda: f"({self.write('float', depth)} in {self.chance.choice(['(0.5, 1, 0)', '{2.5, -1.0}'])})",
            lambda: f"({self._number(depth)} {self.chance.choice('<>')} {self._number(depth)} {self.chance.choice('<>')} {self.constant('int')})",
            lambda: f"{text()}.{self.chance.choice(['startswith', 'endswith'])}({self.chance.choice([repr('a'), repr(''), repr(('a', 'é'))])})",
            lambda: f"{text()}.is{self.chance.choice(['digit', 'alpha', 'alnum', 'space', 'upper', 'lower', 'numeric', 'decimal'])}()",
            lambda: f"math.{self.chance.choice(['isnan', 'isinf', 'isfinite'])}({self._number(depth)})",
            lambda: f"any(word in {text()} for word in WORDS)",
            lambda: f"all([word != {text()} for word in WORDS])",
            lambda: f"isinstance({self.write(anything, depth)}, {self.chance.choice(['int', 'str', '(float, int)', 'bool'])})",
            lambda: f"({self.write('bool', depth)} & {self.write('bool', depth)})",
            lambda: f"({self.chance.choice(self.variables.get(anything) or ['LIMIT'])} is None)",
        ]
        if self.variables.get("datetime"):
            moment = self.chance.choice(self.variables["datetime"])
            choices += [lambda: f"({moment} {self.chance.choice(comparison)} {self.chance.choice(self.variables['datetime'])})"] * 3
        return self.chance.choice(choices)()


def random_function(seed: int, rows: int = 40) -> RandomFunction:
    """Return a random function and the rows that it is called for."""
    chance = random.Random(seed)
    is_of_rows = chance.random() < 0.4
    kinds = tuple(chance.choices(["int", "float", "str", "datetime"], [4, 3, 4, 1], k=chance.choice([2, 3]) if is_of_rows else 1))
    names = tuple("abc"[: len(kinds)]) if is_of_rows else None
    argument = "row" if is_of_rows else "x"
    variables: dict[str, list[str]] = {}
    for number, kind in enumerate(kinds):
        variables.setdefault(kind, []).append(f"row[{names[number]!r}]" if names else "x")
    writer = Writer(chance, variables)
    text = _body(chance, writer, argument, variables)
    scope = dict(GLOBALS)
    exec(compile(text, f"<random function {seed}>", "exec"), scope)
    share_missing = chance.choice([0, 0, 0.1, 0.3])
    columns = tuple([None if chance.random() < share_missing else chance.choice(VALUES[kind]) for _ in range(rows)] for kind in kinds)
    return RandomFunction(scope["function"], text, kinds, names, columns)


def _body(chance: random.Random, writer: Writer, argument: str, variables: dict[str, list[str]]) -> str:
    result = chance.choice(["int", "float", "str", "bool"])
    depth = chance.choice([1, 2, 2, 3])
    form = chance.random()
    if form < 0.45:
        return f"function = lambda {argument}: {writer.write(result, depth)}\n"
    lines = [f"def function({argument}):"]
    if form < 0.6:
        kind = chance.choice(["int", "float", "str"])
        lines.append(f"    local = {writer.write(kind, depth)}")
        variables.setdefault(kind, []).append("local")
        if kind == "int":
            lines.append(f"    local += {writer.write('int', 1)}")
    if form > 0.85:
        lines += ["    count = 0", "    for word in WORDS[:3]:", f"        if word in {writer.write('str', 1)}:", "            count += 1"]
        variables.setdefault("int", []).append("count")
    if 0.6 < form < 0.7:
        lines += [
            "    try:",
            f"        return {writer.write(result, depth)}",
            f"    except {chance.choice(['ValueError', 'Exception', 'ZeroDivisionError'])}:",
        ]
        lines.append(f"        return {chance.choice(['None', writer.constant(result)])}")
        return "\n".join(lines) + "\n"
    if names_missing := [name for names in variables.values() for name in names if name.startswith("row")]:
        lines += [f"    if {chance.choice(names_missing)} is None:", f"        return {chance.choice(['None', writer.constant(result)])}"]
    for number in range(chance.choice([0, 1, 2, 3])):
        lines += [f"    {'elif' if number else 'if'} {writer.write('bool', depth)}:", f"        return {writer.write(result, 1)}"]
    lines.append(f"    return {writer.write(result, depth)}")
    return "\n".join(lines) + "\n"
