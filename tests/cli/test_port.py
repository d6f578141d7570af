"""What `python -m sframe_spark port` finds in programs for GraphLab Create, SFrame and Turi Create."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from sframe_spark.__main__ import main
from sframe_spark.cli.port import CLEAN, MUST_CHANGE, UNREADABLE, changes_in, run_port


def advice(source: str) -> list[tuple[int, str]]:
    return [(change.line, change.advice) for change in changes_in(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import graphlab", "write import sframe_spark as graphlab"),
        ("import graphlab as gl", "write import sframe_spark as gl"),
        ("import turicreate.aggregate as agg", "write import sframe_spark.aggregate as agg"),
        ("import turicreate.aggregate", "write import sframe_spark.aggregate"),
        ("from sframe import SFrame as F, SArray", "write from sframe_spark import SFrame as F, SArray"),
        ("from turicreate import text_analytics", "write from sframe_spark import text_analytics"),
        ("from graphlab import *", "write from sframe_spark import *"),
    ],
)
def test_imports(source: str, expected: str) -> None:
    assert advice(source) == [(1, expected)]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("gl.linear_regression.create(sf, target='y')", "sklearn.linear_model.Ridge"),
        ("gl.recommender.create(sf)", "pyspark.ml.recommendation.ALS"),
        ("gl.classifier.random_forest_classifier.create(sf, target='y')", "RandomForestClassifier"),
        ("gl.boosted_trees.create(sf, target_column='y')", "HistGradientBoostingRegressor"),
        ("gl.feature_engineering.create(sf)", "sklearn.preprocessing"),
        ("gl.SGraph()", "graphs are out of scope"),
        ("gl.canvas.set_target('ipynb')", "visualization.set_target()"),
        ("gl.aggregate.NOTHING()", "NOTHING"),
        ("sf.rename({'a': 'b'})", "write sf = sf.rename(...)"),
        ("frames['x'].remove_column('a')", "write frames['x'] = frames['x'].remove_column(...)"),
        ("other = sf.add_column(column, 'a')", "write sf = sf.add_column(...) first"),
        ("sf = sf.add_column(column, name='a')", "the argument is column_name"),
        ("sf.groupby(key_columns=['a'], operations={})", "the argument is key_column_names"),
        ("sf.pack_columns(column_prefix='a', dtype=dict)", "the argument is column_name_prefix"),
        ("sf['a'].apply(len, skip_undefined=False)", "the argument is skip_na"),
        ("sf['a'].topk_index(5)", "is_topk()"),
    ],
)
def test_names_and_calls(line: str, word: str) -> None:
    found = advice(f"import graphlab as gl\n{line}")
    assert len(found) == 2 and found[1][0] == 2 and word in found[1][1]


@pytest.mark.parametrize(
    "line",
    [
        *("sf = sf.rename({'a': 'b'})", "sf.rename({'a': 'b'}, inplace=True)", "os.rename('a', 'b')", "gl.SFrame.read_csv('a.csv')"),
        *("gl.set_runtime_config('GRAPHLAB_DEFAULT_NUM_PYLAMBDA_WORKERS', 4)", "gl.text_analytics.count_words(sf['a'])", "print('a')"),
        *("gl.recommender.util.random_split_by_user(sf)", "sf['a'].apply(lambda value: value + 1)", "gl.SArray.date_range", "x = 0"),
    ],
)
def test_what_needs_no_change_is_not_found(line: str) -> None:
    assert len(advice(f"import os\nimport graphlab as gl\n{line}")) == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("print", "write print(...)"),
        ('print "%d" % 3, x', "write print(...)"),
        ('print x, \\\n  "y"  # why', "write print(...)"),
        ("if x: print x; y = 1", "write print(...)"),
        ("print >>err, 'a'", "write print(..., file=file)"),
        ("try:\n  pass\nexcept ValueError, error:\n  pass", "write except ... as name:"),
        ("raise ValueError, 'a'", "write raise Error(message)"),
        ("x = 0777", "write 0o777 for 0777"),
        ("x = 5L", "write ints without L"),
        ("x = ur'a'", "write r'...'"),
        ("exec 'x = 1'", "write exec(code)"),
        ("x = `y`", "write repr(...)"),
        ("x = y <> z", "write !="),
        ("for x in xrange(3): pass", "write range"),
        ("d.iteritems()", "write items()"),
        ("import cPickle as pickle", "Python 3 has pickle instead"),
        ("from itertools import izip", "Python 3 has zip"),
        ("from collections import Mapping", "write from collections.abc import Mapping"),
        ("sorted(x, cmp=f)", "write key=functools.cmp_to_key(function)"),
    ],
)
def test_python_2(line: str, expected: str) -> None:
    # What is below a line that Python 3 cannot read is found too.
    found = advice(f"{line}\nsf.rename({{}})")
    assert [text for _, text in found] == [expected, "write sf = sf.rename(...): it returns a new frame"]
    assert found[1][0] == line.count("\n") + 2


def test_lines_that_nobody_can_read_are_left_out() -> None:
    found = changes_in("import graphlab\nx = = 3\n    y\nsf.rename({})")
    assert [change.line for change in found] == [1, 2, 3, 4]
    assert found[1].what == "Python cannot read this line: x = = 3"
    assert changes_in("") == [] and changes_in("\0") == []


def test_programs_are_read_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, notebook = tmp_path / "program.py", tmp_path / "notes.ipynb"
    program.write_bytes("# -*- coding: latin-1 -*-\r\nimport graphlab\r\nopen('made', 'w')\r\nname = 'é'\r\n".encode("latin-1"))
    cells = [
        {"cell_type": "markdown", "source": ["import graphlab"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import turicreate as tc\n", "sf = tc.SFrame()"]},
        {"cell_type": "code", "source": "!ls\nsf.swap_columns('a', 'b')"},
    ]
    notebook.write_text(json.dumps({"cells": cells}))
    assert main(["port", str(program), str(notebook)]) == MUST_CHANGE
    assert capsys.readouterr().out.splitlines() == [
        f"{program}:2: import graphlab: write import sframe_spark as graphlab",
        f"{program}: one line must change",
        f"{notebook}:cell 2 line 2: import turicreate: write import sframe_spark as tc",
        f"{notebook}:cell 3 line 2: the result of swap_columns() is dropped: write sf = sf.swap_columns(...): it returns a new frame",
        f"{notebook}: 2 lines must change",
    ]
    assert not (tmp_path / "made").exists()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    lines: list[str] = []
    (tmp_path / "a.ipynb").write_text("{")
    (tmp_path / "b.py").write_text("x = 1\n")
    assert run_port([str(tmp_path / "absent.py"), str(tmp_path / "a.ipynb"), str(tmp_path / "b.py")], lines.append) == UNREADABLE
    assert [line.partition(": ")[2][:14] for line in lines] == ["cannot be read", "cannot be read", "nothing must c"]
    assert run_port([str(tmp_path / "b.py")], lines.append) == CLEAN


def test_advice_about_imports_can_be_parsed() -> None:
    source = "import graphlab as gl, turicreate.aggregate\nfrom graphlab import SFrame as F, SGraph, SArray"
    written = [text.removeprefix("write ") for _, text in advice(source) if text.startswith("write ")]
    assert len(written) == 3
    for line in written:
        ast.parse(line)


# Lines of public programs for GraphLab Create, as they are, and what the list must say of each.
PUBLIC_LINES = {
    "from BaseHTTPServer import HTTPServer": "Python 3 has http.server instead",
    "from SocketServer import ThreadingMixIn": "Python 3 has socketserver instead",
    "import Cookie": "Python 3 has http.cookies instead",
    "n, m = map(int, f.readline().split())[:2]": "write list(map(int, f.readline().split()))[...]",
    "first = names.keys()[0]": "write list(names.keys())[...]",
    "s = file(path, 'r').read()": "write open",
    "parts = range(len(unique) / 25)": "write // where ints are divided: / gives a float",
    "docs.dict_trim_by_keys(gl.text_analytics.stopwords(), exclude=True)": "write text_analytics.stop_words",
    "g = gl.load_graph('training.sgraph')": "graphs are out of scope: give edges to networkx or GraphFrames by sf.to_pandas() or sf.to_spark()",
}


@pytest.mark.parametrize("line", PUBLIC_LINES)
def test_lines_of_public_programs(line: str) -> None:
    assert PUBLIC_LINES[line] in [change.advice for change in changes_in(f"import graphlab as gl\n{line}\n") if change.line == 2]


@pytest.mark.parametrize(
    "line", ["def copied(file): return file(1)", "file = len; file(x)", "d = list(x.keys())[0]", "f = frame.items(3)[0]", "range(n // 2)"]
)
def test_lines_that_run_in_python_3_are_not_told(line: str) -> None:
    assert not [change for change in changes_in(f"import graphlab as gl\n{line}\n") if change.line == 2]
