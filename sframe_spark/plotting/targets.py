"""Where pictures are shown: below a cell of a notebook, or in a browser."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sframe_spark.config import config
from sframe_spark.plotting.pages import leading_to
from sframe_spark.process.leases import directory_of_system
from sframe_spark.session.notebooks import notebook_shell
from sframe_spark.visible import visible


def show_page(shown: Any, page: Callable[[], str], title: str) -> None:
    """Show something that a notebook can show, or its page in a browser."""
    target = config.picture_target
    if target == "none":
        return
    if target == "auto" and notebook_shell() is not None:
        sys.modules["IPython"].display.display(shown)
        return
    open_address(write_page(page()).as_uri(), title)


def open_address(address: str, title: str, is_secret: bool = False) -> None:
    """Open a page in the browser, or say where it is.

    Parameters
    ----------
    address
        Of the page.
    title
        For who has no browser here.
    is_secret
        Whether others must not see the address. All users of a machine see the command that opens a browser: it names a file that leads on.
    """
    import webbrowser

    opened = write_page(leading_to(address)).as_uri() if is_secret else address
    if not webbrowser.open(opened):
        sys.stderr.write(f"There is no browser here; {visible(title)} is at {address}\n")


def write_page(page: str) -> Path:
    """Write a page to a file that nobody else can read; it stays, as a browser may read it when the process has ended."""
    handle, path = tempfile.mkstemp(prefix="sframe_spark-", suffix=".html", dir=directory_of_system())
    with os.fdopen(handle, "wb") as file:
        file.write(page.encode("utf-8", "replace"))
    return Path(path)
