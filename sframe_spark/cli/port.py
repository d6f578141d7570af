"""``python -m sframe_spark port``: lists by line what must change in programs for GraphLab Create, SFrame or Turi Create.

Programs are only read, never run: a name is followed from its import, and asked for in this package.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

import sframe_spark
from sframe_spark.api.model_hints import MODEL_HINTS
from sframe_spark.errors import SFrameError

CLEAN, MUST_CHANGE, UNREADABLE = 0, 1, 2
OLD_PACKAGES = ("graphlab", "sframe", "turicreate")
# Before Turi Create these changed the frame and returned it; since then they return another one.
IN_PLACE = ("add_column", "add_columns", "remove_column", "remove_columns", "rename", "swap_columns")
_OLD_MEMBERS = {
    "__materialize__": "write materialize()",
    "num_cols": "write num_columns()",
    "sketch_summary": "write summary()",
    "topk_index": "write is_topk()",
    "to_rdd": "write to_spark().rdd",
    "to_spark_dataframe": "write to_spark()",
    "from_odbc": "write SFrame.from_sql(connection, query)",
    "to_odbc": "write to_sql(connection, table)",
    "save_reference": "write save(path)",
    "get_column": "write sf[name]",
}
# Names of GraphLab Create that have another one here, by their places in the package.
_OLD_NAMES: dict[tuple[str, ...], str] = {
    ("text_analytics", "stopwords"): "write text_analytics.stop_words",
}
_OLD_KEYWORDS = {
    ("add_column", "name"): "column_name",
    ("add_columns", "namelist"): "column_names",
    ("remove_column", "name"): "column_name",
    ("groupby", "key_columns"): "key_column_names",
    ("sort", "sort_columns"): "key_column_names",
    ("pack_columns", "columns"): "column_names",
    ("pack_columns", "column_prefix"): "column_name_prefix",
    ("apply", "skip_undefined"): "skip_na",
    ("filter", "skip_undefined"): "skip_na",
    ("unpack", "unpack_column"): "column_name",
    ("split_datetime", "expand_column"): "column_name",
    ("split_datetime", "tzone"): "timezone",
    ("unstack", "column"): "column_names",
    ("select_column", "key"): "column_name",
    ("select_columns", "keylist"): "column_names",
}
_PYTHON_2_NAMES = {
    "basestring": "write str",
    "cmp": "write (a > b) - (a < b)",
    "execfile": "write exec(open(path).read())",
    "long": "write int",
    "raw_input": "write input",
    "reduce": "write functools.reduce",
    "reload": "write importlib.reload; sys.setdefaultencoding is not needed",
    "unichr": "write chr",
    "unicode": "write str",
    "xrange": "write range",
}
_PYTHON_2_METHODS = {
    "has_key": "write key in dict",
    "iteritems": "write items()",
    "iterkeys": "write keys()",
    "itervalues": "write values()",
    "setdefaultencoding": "leave it out: text is Unicode",
}
_PYTHON_2_MODULES = {
    "BaseHTTPServer": "http.server",
    "CGIHTTPServer": "http.server",
    "Cookie": "http.cookies",
    "HTMLParser": "html.parser",
    "SimpleHTTPServer": "http.server",
    "SocketServer": "socketserver",
    "Tkinter": "tkinter",
    "UserDict": "collections",
    "__builtin__": "builtins",
    "anydbm": "dbm",
    "cookielib": "http.cookiejar",
    "copy_reg": "copyreg",
    "htmlentitydefs": "html.entities",
    "md5": "hashlib",
    "robotparser": "urllib.robotparser",
    "sha": "hashlib",
    "thread": "_thread",
    "xmlrpclib": "xmlrpc.client",
    "ConfigParser": "configparser",
    "Queue": "queue",
    "StringIO": "io",
    "cPickle": "pickle",
    "commands": "subprocess",
    "cStringIO": "io",
    "httplib": "http.client",
    "sets": "set, which is built in",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
}
# What gives a list in Python 2, and in Python 3 something that has no first item.
_LISTS_OF_PYTHON_2 = ("filter", "map", "zip")
_LISTS_OF_DICTS = ("items", "keys", "values")
_ITERTOOLS = {"izip": "zip", "imap": "map", "ifilter": "filter", "izip_longest": "zip_longest"}
_ABSTRACT_CLASSES = ("Callable", "Hashable", "Iterable", "Iterator", "Mapping", "MutableMapping", "MutableSequence", "Sequence", "Set", "Sized")
# A pattern of Python 2, its replacement so that the rest of the program can be parsed, and what to write instead.
_PYTHON_2_SYNTAX = (
    (re.compile(r"\bexcept\s+([\w.]+|\([\w., ]+\))\s*,\s*(\w+)\s*:"), r"except \1 as \2:", "write except ... as name:"),
    (re.compile(r"\braise\s+([\w.]+)\s*,\s*(.+)$"), r"raise \1(\2)", "write raise Error(message)"),
    (re.compile(r"(?<=[\w)\]\s])<>(?=[\w(\[\s\"'-])"), "!=", "write !="),
    (re.compile(r"\b(\d+)[lL]\b"), r"\1", "write ints without L"),
    (re.compile(r"(?<![\w.\"'])0(?=[0-7]+\b(?!\.))"), "0o", "write 0o777 for 0777"),
    (re.compile(r"\b[uU][rR](?=[\"'])"), "r", "write r'...'"),
    (re.compile(r"^(\s*)exec\s+(?!\()(.+)$"), r"\1exec(\2)", "write exec(code)"),
    (re.compile(r"`([^`]+)`"), r"repr(\1)", "write repr(...)"),
)
_MAX_REPAIRS = 200


@attrs.frozen(order=True)
class ChangeToMake:
    """A change to make in a line.

    Parameters
    ----------
    line
        The number of the line, from 1.
    what
        The present code.
    advice
        What to write or use instead.
    """

    line: int
    what: str
    advice: str


def run_port(paths: Sequence[str], show: Callable[[str], None]) -> int:
    """Print a line for each change to make in programs, and the number of changes.

    Parameters
    ----------
    paths
        Programs (``.py``) and notebooks (``.ipynb``).
    show
        Called with each line.

    Returns
    -------
    int
        0 if nothing must change, 1 if something must, 2 if a file cannot be read.
    """
    return max([_port(path, show) for path in paths], default=CLEAN)


def _port(path: str, show: Callable[[str], None]) -> int:
    try:
        parts = _parts_of(path)
    except (OSError, ValueError) as error:
        show(f"{path}: cannot be read: {error}")
        return UNREADABLE
    # Names that a cell of a notebook imports are known in all cells below.
    changes = changes_in("\n".join(source for _, source in parts))
    places = [f"{label}{line}" for label, source in parts for line in range(1, source.count("\n") + 2)]
    for change in changes:
        show(f"{path}:{places[change.line - 1]}: {change.what}: {change.advice}")
    count = len(changes)
    show(f"{path}: {'nothing must change' if not count else 'one line must change' if count == 1 else f'{count:,} lines must change'}")
    return MUST_CHANGE if changes else CLEAN


def _parts_of(path: str) -> list[tuple[str, str]]:
    """Return the sources of a program, or of the cells of a notebook, each with what is written before the numbers of its lines."""
    with open(path, "rb") as file:
        data = file.read()
    if Path(path).suffix != ".ipynb":
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return [("", data.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n"))]
    notebook = json.loads(data)
    sheets = notebook.get("worksheets", [notebook])
    cells = [cell for sheet in sheets for cell in sheet.get("cells", [])]
    parts = []
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", []))
            lines = "".join(source).split("\n")
            # Commands of IPython are not Python.
            parts.append((f"cell {number} line ", "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)))
    return parts


def changes_in(source: str) -> list[ChangeToMake]:
    """Return what must change in the source of a program, by line.

    Examples
    --------
    >>> for change in changes_in("import graphlab as gl\\nsf = gl.SFrame()\\nsf.rename({'a': 'b'})\\nprint sf"):
    ...     print(change.line, change.advice)
    1 write import sframe_spark as gl
    3 write sf = sf.rename(...): it returns a new frame
    4 write print(...)
    """
    tree, found = _parsed(source)
    visitor = _ProgramVisitor(source.split("\n"))
    visitor.visit(tree)
    return sorted({*found, *visitor.found})


def _parsed(source: str) -> tuple[ast.Module, list[ChangeToMake]]:
    """Parse a program of any Python; lines that cannot be parsed are left out, and found."""
    found: list[ChangeToMake] = []
    try:
        return ast.parse(source), found
    except (SyntaxError, ValueError):
        pass
    source_lines = source.split("\n")
    lines = source.expandtabs(8).replace("\0", " ").split("\n")
    found += _without_print_statements(lines)
    for number, line in enumerate(lines, 1):
        for pattern, replacement, advice in _PYTHON_2_SYNTAX:
            changed = pattern.sub(replacement, line)
            if changed != line and not _can_be_read(line):
                found.append(ChangeToMake(number, f"Python 2: {source_lines[number - 1].strip():.60}", advice))
                line = lines[number - 1] = changed
    for _ in range(_MAX_REPAIRS):
        try:
            return ast.parse("\n".join(lines)), found
        except SyntaxError as error:
            number = min(max(error.lineno or 1, 1), len(lines))
            line = lines[number - 1]
            if not line.strip():
                break
            if line.strip() == "pass":
                lines[number - 1] = ""
                continue
            found.append(ChangeToMake(number, f"Python cannot read this line: {line.strip():.60}", str(error.msg)))
            lines[number - 1] = line[: len(line) - len(line.lstrip())] + "pass"
    return _line_by_line(lines), found


def _line_by_line(lines: Sequence[str]) -> ast.Module:
    """Parse each line on its own, as far as it can be, where the lines together cannot."""
    statements: list[ast.stmt] = []
    for number, line in enumerate(lines):
        try:
            parsed = ast.parse(line.strip()).body
        except SyntaxError:
            continue
        statements += [ast.increment_lineno(statement, number) for statement in parsed]
    return ast.Module(statements, [])


def _can_be_read(line: str) -> bool:
    try:
        ast.parse(line.strip())
    except SyntaxError:
        return False
    return True


def _without_print_statements(lines: list[str]) -> list[ChangeToMake]:
    """Make calls of ``print`` statements, in place."""
    found = []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        tokens = []
    is_first = True
    for position, token in enumerate(tokens):
        begins = is_first
        if token.type not in (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT):
            is_first = token.type == tokenize.NEWLINE or token.string in (":", ";")
        if not begins or token.string != "print":
            continue
        following = tokens[position + 1]
        if following.string in ("=", ".") or (following.string == "(" and _can_be_read(lines[token.start[0] - 1])):
            continue
        end = next((other for other in tokens[position + 1 :] if other.type == tokenize.NEWLINE or other.string == ";"), tokens[-1])
        while tokens[tokens.index(end) - 1].type == tokenize.COMMENT:
            end = tokens[tokens.index(end) - 1]
        advice = "write print(..., file=file)" if following.string == ">>" else "write print(...)"
        found.append(ChangeToMake(token.start[0], f"Python 2: {token.line.strip():.60}", advice))
        row, column = end.start[0] - 1, end.start[1]
        lines[row] = f"{lines[row][:column].rstrip()}){lines[row][column:]}"
        start = token.start[0] - 1
        rest = lines[start][token.end[1] :].lstrip()
        lines[start] = f"{lines[start][: token.start[1]]}print({rest.removeprefix('>>')}"
    return found


class _ProgramVisitor(ast.NodeVisitor):
    """Collects what must change."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.found: set[ChangeToMake] = set()
        # For each name of the program the names in this package that it stands for: () is the package.
        self.names_here: dict[str, tuple[str, ...]] = {}
        self.other_modules: set[str] = set()
        self.is_before_turi = False
        # Names that the program assigns, or that its functions take.
        self.bound_names: set[str] = set()

    def add(self, node: Any, what: str, advice: str) -> None:
        """Note what must change in the line of a node."""
        self.found.add(ChangeToMake(node.lineno, what, advice))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            package, _, rest = alias.name.partition(".")
            if package in OLD_PACKAGES:
                self.is_before_turi |= package != "turicreate"
                names = tuple(rest.split(".")) if rest else ()
                self.names_here[alias.asname or package] = names if alias.asname else ()
                if not self._missing(node, alias.name, names):
                    module = ".".join(["sframe_spark", *names])
                    bound = f"import {module} as {alias.asname}" if alias.asname else f"import {module}" + ("" if rest else f" as {package}")
                    self.add(node, f"import {alias.name}", f"write {bound}")
            else:
                self.other_modules.add(alias.asname or package)
                if alias.name in _PYTHON_2_MODULES:
                    self.add(node, f"import {alias.name}", f"Python 3 has {_PYTHON_2_MODULES[alias.name]} instead")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        package, _, rest = (node.module or "").partition(".")
        if package in OLD_PACKAGES and not node.level:
            self.is_before_turi |= package != "turicreate"
            place = tuple(rest.split(".")) if rest else ()
            names = [alias.name for alias in node.names]
            missing = [name for name in names if name != "*" and self._missing(node, f"{node.module}.{name}", (*place, name))]
            for alias in node.names:
                self.names_here[alias.asname or alias.name] = (*place, alias.name)
            if len(missing) < len(names):
                kept = ", ".join(ast.unparse(alias) for alias in node.names if alias.name not in missing)
                self.add(node, f"from {node.module} import", f"write from {'.'.join(['sframe_spark', *place])} import {kept}")
        elif node.module == "itertools":
            for alias in node.names:
                if alias.name in _ITERTOOLS:
                    self.add(node, f"itertools.{alias.name}", f"Python 3 has {_ITERTOOLS[alias.name]}")
        elif node.module == "collections":
            for alias in node.names:
                if alias.name in _ABSTRACT_CLASSES:
                    self.add(node, f"collections.{alias.name}", f"write from collections.abc import {alias.name}")
        elif node.module in _PYTHON_2_MODULES:
            self.add(node, f"from {node.module} import", f"Python 3 has {_PYTHON_2_MODULES[node.module]} instead")

    def visit_Module(self, node: ast.Module) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                self.bound_names.add(inner.id)
            elif isinstance(inner, ast.arg):
                self.bound_names.add(inner.arg)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        is_list = isinstance(called, ast.Name) and called.id in _LISTS_OF_PYTHON_2
        is_of_dict = isinstance(called, ast.Attribute) and called.attr in _LISTS_OF_DICTS and not getattr(node.value, "args", [])
        if is_list or is_of_dict:
            self.add(node, f"Python 2: {ast.unparse(node):.60}", f"write list({ast.unparse(node.value):.60})[...]")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in _PYTHON_2_NAMES and isinstance(node.ctx, ast.Load) and node.id not in self.names_here:
            self.add(node, node.id, _PYTHON_2_NAMES[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = _chain(node)
        if chain and chain[0] in self.names_here:
            self._missing(node, ".".join(chain), (*self.names_here[chain[0]], *chain[1:]))
            return
        if chain and chain[0] == "itertools" and node.attr in _ITERTOOLS:
            self.add(node, f"itertools.{node.attr}", f"Python 3 has {_ITERTOOLS[node.attr]}")
        elif node.attr in _PYTHON_2_METHODS:
            self.add(node, f".{node.attr}", _PYTHON_2_METHODS[node.attr])
        elif node.attr in _OLD_MEMBERS and not self._is_of_other_module(node):
            self.add(node, f".{node.attr}()", _OLD_MEMBERS[node.attr])
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        # Python 3 reads these statements of Python 2 too, and does nothing for the first.
        first = node.value.elts[0] if isinstance(node.value, ast.Tuple) and node.value.elts else node.value
        if isinstance(first, ast.Name) and first.id == "print":
            self.add(node, "Python 2: print", "write print(...)")
        elif isinstance(first, ast.BinOp) and isinstance(first.op, ast.RShift) and isinstance(first.left, ast.Name) and first.left.id == "print":
            self.add(node, "Python 2: print >>", "write print(..., file=file)")
        called = self._changing_call(node.value)
        if called is not None:
            frame = ast.unparse(called.value)
            self.add(node, f"the result of {called.attr}() is dropped", f"write {frame} = {frame}.{called.attr}(...): it returns a new frame")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        called = self._changing_call(node.value)
        if called is not None and self.is_before_turi and ast.unparse(called.value) not in map(ast.unparse, node.targets):
            frame = ast.unparse(called.value)
            self.add(node, f"{called.attr}() changed {frame} too", f"write {frame} = {frame}.{called.attr}(...) first, if {frame} is used below")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            for keyword in node.keywords:
                replacement = _OLD_KEYWORDS.get((node.func.attr, keyword.arg or ""))
                if replacement is not None and not self._is_of_other_module(node.func):
                    self.add(node, f"{node.func.attr}({keyword.arg}=...)", f"the argument is {replacement}")
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if isinstance(node.func, ast.Name) and called == "file" and called not in self.bound_names:
            self.add(node, "file", "write open")
        if called in ("range", "xrange") and any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) for part in node.args):
            self.add(node, f"Python 2: {ast.unparse(node):.60}", "write // where ints are divided: / gives a float")
        if called in ("sort", "sorted") and any(keyword.arg == "cmp" for keyword in node.keywords):
            self.add(node, "cmp=", "write key=functools.cmp_to_key(function)")
        self.generic_visit(node)

    def _changing_call(self, value: ast.expr) -> ast.Attribute | None:
        """Return the member that an expression calls, if it is one that changed a frame before."""
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in IN_PLACE):
            return None
        if any(keyword.arg == "inplace" for keyword in value.keywords) or self._is_of_other_module(value.func):
            return None
        return value.func

    def _is_of_other_module(self, node: ast.Attribute) -> bool:
        chain = _chain(node)
        return bool(chain) and chain[0] in self.other_modules

    def _missing(self, node: Any, written: str, names: Sequence[str]) -> bool:
        """Note that a name is not in this package, if so; what is said is what its error says. Return whether it is noted."""
        for length in range(1, len(names) + 1):
            if tuple(names[:length]) in _OLD_NAMES:
                self.add(node, written, _OLD_NAMES[tuple(names[:length])])
                return True
        # A model may be in a module of several, such as classifier.random_forest_classifier: the inner name is that of the model.
        model = next((name for name in reversed(names) if name in MODEL_HINTS), None)
        if model is not None:
            self.add(node, written, MODEL_HINTS[model])
            return True
        here: Any = sframe_spark
        for number, name in enumerate(names):
            try:
                here = getattr(here, name)
            except (AttributeError, SFrameError, ImportError) as error:
                if name.startswith("_") or (number and not isinstance(error, SFrameError)):
                    self.add(node, written, "it is not here")
                else:
                    self.add(node, written, str(error).partition(": ")[2] or str(error))
                return True
            # Members of what a call, a class or a column returns are not followed.
            if not hasattr(here, "__name__") or not hasattr(here, "__dict__"):
                break
        return False


def _chain(node: ast.expr) -> tuple[str, ...]:
    """Return the names of a dotted name, or no names for another expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()
