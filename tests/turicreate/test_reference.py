"""Archives that the reference writes now, of random values, are read as it gives them: on demand, with ``SFRAME_REFERENCE=its python``.

``SFRAME_REFERENCE=~/.cache/sframe-reference/bin/python pytest -m campaign tests/turicreate/test_reference.py``
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from sframe_spark import SArray, load_sframe
from tests.turicreate.expected import class_of, differs

REFERENCE = os.path.expanduser(os.environ.get("SFRAME_REFERENCE", ""))
pytestmark = [pytest.mark.campaign, pytest.mark.skipif(not REFERENCE, reason="SFRAME_REFERENCE does not say where the reference is")]

# Runs under Python 3.8. Values are written as `expected.py` reads them.
PROGRAM = r"""
import array, datetime, json, random, sys
import numpy as np
# It is of the time of older versions of numpy.
np.bool = np.bool_ if not hasattr(np, "bool") else np.bool
import turicreate as tc
from dateutil import tz

place, seed = sys.argv[1], int(sys.argv[2])
choose = random.Random(seed)

def zone():
    return choose.choice([None, datetime.timezone.utc, tz.tzoffset(None, 900 * choose.randrange(-48, 49))])

def number():
    return choose.choice([choose.randrange(100), choose.randrange(-2**63, 2**63), choose.randrange(-1000, 1000), 7])

def real():
    return choose.choice([0.0, -0.0, 1.5, choose.random(), float(choose.randrange(10**6)), 1e300, 5e-324, float("nan"), float("inf"), 2.0**60])

def text():
    return choose.choice(["", "a", "\u00e9", "\u65e5\u672c", "x" * choose.randrange(200), str(choose.randrange(5)), str(choose.random())])

def moment():
    found = datetime.datetime(1900, 1, 1) + datetime.timedelta(seconds=choose.randrange(6 * 10**9))
    found += datetime.timedelta(microseconds=choose.choice([0, choose.randrange(10**6)]))
    return found.replace(tzinfo=zone())

def vector():
    return array.array("d", [real() for _ in range(choose.choice([0, 1, 3, 50]))])

def inner(depth):
    kinds = [number, real, text, moment, vector, lambda: None]
    if depth:
        kinds += [lambda: items(depth - 1), lambda: entries(depth - 1)]
    return choose.choice(kinds)()

def items(depth=2):
    return [inner(depth) for _ in range(choose.randrange(5))] + [choose.choice(["a", None])]

def entries(depth=2):
    keys = [number, text, lambda: round(choose.random(), 3), lambda: ("a", choose.randrange(3), None)]
    return {choose.choice(keys)(): inner(depth) for _ in range(choose.randrange(5))}

def tensor():
    shape = tuple(choose.randrange(1, 4) for _ in range(choose.randrange(2, 5)))
    found = np.array([real() for _ in range(int(np.prod(shape)))]).reshape(shape)
    return found.T if choose.random() < 0.5 else found

KINDS = [("int", int, number), ("float", float, real), ("str", str, text), ("datetime", datetime.datetime, moment), ("array", array.array, vector),
         ("list", list, items), ("dict", dict, entries), ("ndarray", np.ndarray, tensor)]

def told(value):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, array.array):
        return {"$array": [told(item) for item in value]}
    if isinstance(value, tuple):
        return {"$tuple": [told(item) for item in value]}
    if isinstance(value, list):
        return [told(item) for item in value]
    if isinstance(value, dict):
        return {"$dict": [[told(key), told(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray):
        return {"$ndarray": value.tolist(), "dtype": "float64"}
    offset = value.utcoffset()
    return {"$datetime": value.replace(tzinfo=None).isoformat(), "tz": None if offset is None else offset.total_seconds() / 60}

frames, columns = [], []
for place_number in range(6):
    name, kind, make = KINDS[(seed + place_number) % len(KINDS)]
    rows = choose.choice([0, 1, 100, 3000])
    share = choose.choice([0.0, 0.1, 0.9, 1.0])
    pool = [make() for _ in range(choose.choice([1, 20, 1000]))]
    values = [None if choose.random() < share else choose.choice(pool) for _ in range(rows)]
    column = tc.SArray(values, kind)
    column.save(place + "/column%d" % place_number)
    columns.append({"dtype": name, "value": [told(value) for value in column]})
wide = tc.SFrame()
for name, kind, make in KINDS:
    wide[name] = tc.SArray([None if choose.random() < 0.1 else make() for _ in range(500)], kind)
if choose.random() < 0.5:
    wide = wide.append(wide).sort("int")
wide.save(place + "/frame")
names = wide.column_names()
frame = {"columns": names, "value": [[told(row[name]) for name in names] for row in wide]}
json.dump({"columns": columns, "frame": frame}, open(place + "/told.json", "w"))
"""


@pytest.mark.parametrize("seed", range(16))
def test_what_the_reference_writes_is_read(seed: int, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [REFERENCE, str(tmp_path / "program.py"), str(tmp_path), str(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3_000:]
    told = json.loads((tmp_path / "told.json").read_text())
    for number, expected in enumerate(told["columns"]):
        column = SArray(str(tmp_path / f"column{number}"))
        assert column.dtype is class_of(expected["dtype"])
        assert differs(expected["value"], list(column)) is None
    frame = load_sframe(str(tmp_path / "frame"))
    assert frame.column_names() == told["frame"]["columns"]
    rows = [[row[name] for name in frame.column_names()] for row in frame]
    assert differs(told["frame"]["value"], rows) is None
    frame.save(str(tmp_path / "saved"))
    assert repr(list(load_sframe(str(tmp_path / "saved"), verify=True))) == repr(list(frame))
