"""What type checkers see of the API: mypy and pyright run over sample programs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
WRONG_LINES = {number for number, line in enumerate((PROGRAMS / "wrong.py").read_text().splitlines(), start=1) if "# wrong" in line}
MOST_SECONDS = 300


def run(command: list[str], directory: Path) -> str:
    """What a checker prints about the programs."""
    environment = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=False, cwd=directory, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_mypy_sees_the_types_that_the_programs_state(tmp_path: Path) -> None:
    # Of other packages it need not know more than that they are there.
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports = silent\nignore_missing_imports = True\n")
    # What it knew of the package in the run before is looked at first: most of five seconds.
    options = ["--config-file", "mypy.ini", "--cache-dir", str(ROOT / ".mypy_cache" / "programs"), "--check-untyped-defs", "--no-error-summary"]
    told = run([sys.executable, "-m", "mypy", *options, *map(str, sorted(PROGRAMS.glob("*.py")))], tmp_path)
    places = re.findall(r"^(?:.*/)?(\w+)\.py:(\d+): error", told, re.MULTILINE)
    assert {int(line) for name, line in places if name == "wrong"} == WRONG_LINES, told
    assert {name for name, _ in places} == {"wrong"}, told


# It sees what mypy sees, and takes as long.
@pytest.mark.campaign
@pytest.mark.skipif(importlib.util.find_spec("pyright") is None or shutil.which("node") is None, reason="pyright needs its package and node")
def test_pyright_sees_the_types_that_the_programs_state(tmp_path: Path) -> None:
    settings = {"include": ["programs"], "extraPaths": [str(ROOT)], "pythonVersion": "3.11", "useLibraryCodeForTypes": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({**settings, "reportUnusedExpression": False, "reportMissingModuleSource": False}))
    shutil.copytree(PROGRAMS, tmp_path / "programs", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    try:
        told = json.loads(run(command, tmp_path))
    except (AssertionError, json.JSONDecodeError) as error:
        pytest.skip(f"pyright cannot be started here: {error}")
    found = [item for item in told["generalDiagnostics"] if item["severity"] == "error"]
    assert told["summary"]["filesAnalyzed"] == len(list(PROGRAMS.glob("*.py")))
    wrong = [item for item in found if item["file"].endswith("wrong.py")]
    assert {item["range"]["start"]["line"] + 1 for item in wrong} == WRONG_LINES, wrong
    assert found == wrong
