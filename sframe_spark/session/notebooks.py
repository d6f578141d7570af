"""Whether the process is the kernel of a notebook, and what it shows there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def notebook_shell() -> Any:
    """The shell of the kernel of a notebook, None elsewhere: IPython in a terminal shows no pictures. Nothing is imported.

    Examples
    --------
    >>> notebook_shell() is None
    True
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    return shell if hasattr(shell, "kernel") else None


def show_in_place(shell: Any, display_id: str, forms: Mapping[str, str], is_there: bool) -> None:
    """Show something below the cell that runs, in the forms given by media type, or in the place of what was shown there under the same name."""
    shell.display_pub.publish(data=dict(forms), metadata={}, transient={"display_id": display_id}, update=is_there)
