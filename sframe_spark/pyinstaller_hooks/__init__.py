"""What PyInstaller needs to know to freeze a program that uses this package; it finds this by an entry point."""

from __future__ import annotations

from pathlib import Path


def hook_directories() -> list[str]:
    """Return the directories with hooks for PyInstaller: this one.

    Examples
    --------
    >>> [Path(directory).name for directory in hook_directories()]
    ['pyinstaller_hooks']
    """
    return [str(Path(__file__).parent)]
