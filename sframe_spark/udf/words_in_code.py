"""What code names, and whether it does what is another thing in another process: the code itself is all that is asked."""

from __future__ import annotations

import dis
import functools
import itertools
import re
import types
from collections.abc import Sequence

import attrs

# Names with which code reads variables that it does not spell: then all variables of the modules that it reaches are sent.
_READS_ANY = frozenset({"vars", "globals", "eval", "exec", "__dict__", "import_module", "attrgetter", "getmembers"})
_READS_OWN = frozenset({"globals", "eval", "exec"})
_WORD = re.compile(r"[^\W\d]\w*")
_UNPICKLES = frozenset({"loads", "load", "Unpickler", "read_pickle"})
_PICKLERS = frozenset({"pickle", "cloudpickle", "dill", "joblib", "pandas", "pd"})


@attrs.frozen
class WordsInCode:
    """What some code names, and what it does that is another thing in another process.

    Parameters
    ----------
    names, texts
        Variables and attributes; texts that may be names of such.
    imported, assigned
        Modules that it imports, variables of its own module that it assigns.
    passed_on
        Variables that it reads, and not to read an attribute of what they are.
    reads_any, reads_own
        It may read variables that it does not spell: of any module that it names, of its own.
    hashes
        It asks for hashes, which differ from process to process where they are of texts.
    makes_sets
        It makes sets, whose order depends on such hashes.
    """

    names: frozenset[str]
    texts: frozenset[str]
    imported: frozenset[str]
    assigned: frozenset[str]
    passed_on: frozenset[str]
    reads_any: bool
    reads_own: bool
    hashes: bool
    makes_sets: bool


@functools.lru_cache(maxsize=4096)
def words_in(code: types.CodeType) -> WordsInCode:
    """What some code names, that of functions in it included.

    Examples
    --------
    >>> def rated(row):
    ...     import rules
    ...     return row["sum"] * getattr(rules, "RATE")
    >>> words = words_in(rated.__code__)
    >>> sorted(words.names), sorted(words.texts), sorted(words.imported)
    (['getattr', 'rules'], ['RATE', 'sum'], ['rules'])
    """
    names, texts, imported, assigned = set[str](), set[str](), set[str](), set[str]()
    passed_on, constants = set[str](), list[str]()
    reads_any = hashes = makes_sets = False
    waiting = [code]
    while waiting:
        part = waiting.pop()
        names.update(part.co_names)
        for constant in part.co_consts:
            for item in constant if type(constant) in (tuple, frozenset) else (constant,):
                if type(item) is str:
                    constants.append(item)
                if type(item) is str and item.replace(".", "_").isidentifier():
                    texts.add(item)
                elif isinstance(item, types.CodeType):
                    waiting.append(item)
        steps = list(dis.get_instructions(part))
        for place, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                imported.add(step.argval)
            elif step.opname == "STORE_GLOBAL":
                assigned.add(step.argval)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                if not any(each.opname in ("LOAD_ATTR", "LOAD_METHOD") for each in steps[place + 1 : place + 2]):
                    passed_on.add(step.argval)
                hashes = hashes or step.argval == "hash"
                makes_sets = makes_sets or step.argval in ("set", "frozenset")
                reads_any = reads_any or (step.argval == "getattr" and not _is_spelled(steps[place + 1 :]))
            elif step.opname in ("BUILD_SET", "SET_ADD"):
                makes_sets = True
    unpickles = not _UNPICKLES.isdisjoint(names) and not _PICKLERS.isdisjoint(names)
    reads_any = reads_any or unpickles or not _READS_ANY.isdisjoint(names)
    hashes = hashes or "__hash__" in names
    reads_own = not _READS_OWN.isdisjoint(names)
    if reads_own:
        # Code that is a text.
        texts.update(word for part in constants for word in _WORD.findall(part))
    words = frozenset(names), frozenset(texts), frozenset(imported), frozenset(assigned), frozenset(passed_on)
    return WordsInCode(*words, reads_any, reads_own, hashes, makes_sets)


def _is_spelled(steps: Sequence[dis.Instruction]) -> bool:
    """Say whether a call of ``getattr`` has the name of the attribute as a constant, as its last argument or before a constant."""
    given: list[dis.Instruction] = []
    for step in steps:
        if step.opname in ("CALL", "CALL_FUNCTION_EX", "CALL_KW"):
            break
        if step.opname not in ("PRECALL", "CACHE", "PUSH_NULL"):
            given.append(step)
    constants = [step.argval for step in itertools.takewhile(lambda step: step.opname == "LOAD_CONST", reversed(given))]
    return any(type(constant) is str for constant in constants[:2])
