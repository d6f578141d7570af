"""What an index of packages shows: the README, whose links lead to the repository there.

Everything else is in ``pyproject.toml``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
# A link or a picture that names a file of the repository.
RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)")


def readme_of_index(text: str, repository: str) -> str:
    """The README with absolute links: pictures to the files themselves, others to the pages that show them."""
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/")
    return RELATIVE.sub(lambda link: f"{link[1]}{link[2]}({f'{raw}/main' if link[1] else f'{repository}/blob/main'}/{link[3]})", text)


if __name__ == "__main__":
    with (ROOT / "pyproject.toml").open("rb") as file:
        urls = tomllib.load(file)["project"]["urls"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    setup(long_description=readme_of_index(readme, urls["Repository"]), long_description_content_type="text/markdown")
