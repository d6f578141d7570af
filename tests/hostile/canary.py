"""What shows that code from data has run."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Canary:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)
