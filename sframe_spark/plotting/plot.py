"""Plot: a chart that is computed when it is looked at."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from sframe_spark.api.hints import with_answers
from sframe_spark.errors import InvalidArgumentError, MissingLibraryError, PictureFormatError
from sframe_spark.locations import place_of
from sframe_spark.plotting.pages import chart_page
from sframe_spark.plotting.targets import show_page, write_page
from sframe_spark.storage.exports.text_files import staged_text, write_text_part

# Names of parts of a picture, where Vega gives and uses them.
_IDENTIFIER = re.compile(r'((?:\bid="|url\(#)(?=clip|gradient))')


@with_answers
class Plot:
    """A chart of columns; nothing is counted before it is shown, saved or asked for.

    In a notebook it shows itself. Drawing needs vl-convert (``pip install sframe_spark[pictures]``), :meth:`get_vega` does not.

    Parameters
    ----------
    vega_spec
        A specification in Vega-Lite, or what makes one when it is called.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> plot = SArray(["a", "b", "a"]).plot()
    >>> [(bar["label"], bar["count"]) for bar in plot.get_data()["values"]]
    [('a', 2), ('b', 1)]
    """

    def __init__(self, vega_spec: dict[str, Any] | Callable[[], dict[str, Any]]) -> None:
        self._made = vega_spec

    @cached_property
    def _specification(self) -> dict[str, Any]:
        return self._made() if callable(self._made) else self._made

    def materialize(self) -> None:
        """Count what is drawn, and keep the counts.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2]).plot().materialize()
        """
        _ = self._specification

    def get_vega(self, include_data: bool = True) -> dict[str, Any]:
        """The chart as a specification in Vega-Lite.

        Parameters
        ----------
        include_data
            Whether what is drawn is part of it.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2]).plot().get_vega()["layer"][0]["mark"]["type"]
        'bar'
        """
        specification = json.loads(json.dumps(self._specification))
        return specification if include_data else _without_data(specification)

    def get_data(self) -> dict[str, Any]:
        """What is drawn, as a list of rows under ``"values"``; all has been counted when it is given.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2, 2]).plot().get_data()["values"]
        [{'left': 1.0, 'right': 2.0, 'count': 1}, {'left': 2.0, 'right': 3.0, 'count': 2}]
        """
        return {"values": json.loads(json.dumps(self._specification.get("data", {}).get("values", []))), "progress": 100.0}

    def get_url(self) -> str:
        """The address of a page with the chart: a file in the temporary directory of the system, which stays there.

        Raises
        ------
        ImportError
            If vl-convert is not there.
        """
        return write_page(self._page()).as_uri()

    def save(self, filepath: str | os.PathLike[str]) -> None:
        """Write the chart to a file: ``.json`` (Vega-Lite), ``.svg``, ``.png`` or ``.html``.

        A page of HTML tells what is under the mouse and needs no network. A file that is there is replaced when all is written.

        Parameters
        ----------
        filepath
            Its extension says what is written.

        Raises
        ------
        ValueError
            If ``filepath`` is no path.
        NotImplementedError
            If the extension is another one.
        ImportError
            If vl-convert is not there, but for ``.json``.
        OSError
            If the file cannot be written.
        """
        if not isinstance(filepath, (str, os.PathLike)):
            raise InvalidArgumentError(f"a chart is saved to a path, not to {type(filepath).__name__}: plot.save('chart.svg')")
        path = place_of(filepath)
        writers: dict[str, Callable[[], bytes]] = {
            ".json": lambda: json.dumps(self._specification).encode(),
            ".svg": lambda: self._svg("#444444").encode(),
            ".png": self._png,
            ".html": lambda: self._page().encode("utf-8", "replace"),
        }
        ending = os.path.splitext(path)[1].lower()
        if ending not in writers:
            raise PictureFormatError(f"a chart is saved as .json, .svg, .png or .html, and {os.path.basename(path)!r} ends in none of these")
        # All is made before the file is touched, and stands there whole or not at all.
        content = writers[ending]()
        with staged_text(path) as (staging, parts):
            parts.append(write_text_part(staging.here, path, [content]))

    def show(self) -> None:
        """Show the chart: in a notebook below the cell, elsewhere in a browser; see ``visualization.set_target``.

        Raises
        ------
        ImportError
            If vl-convert is not there.
        """
        show_page(self, self._page, self._title())

    def _title(self) -> str:
        return str(self._specification.get("title", {}).get("text") or "chart")

    def _page(self) -> str:
        return chart_page(self._title(), self._specification, _library().javascript_bundle())

    def _png(self) -> bytes:
        picture: bytes = _library().vegalite_to_png(_coloured(self._specification, "#444444", "white"), scale=2)
        return picture

    def _svg(self, ink: str) -> str:
        picture: str = _library().vegalite_to_svg(_coloured(self._specification, ink, None))
        # Several pictures stand in one notebook, where each name must be of one thing.
        own = hashlib.sha256(picture.encode()).hexdigest()[:8]
        return _IDENTIFIER.sub(rf"\g<1>p{own}-", picture)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        try:
            return {"text/html": self._html(), "text/plain": repr(self)}
        except MissingLibraryError as error:
            return {"application/vnd.vegalite.v5+json": self.get_vega(), "text/plain": f"{self!r}: {error}"}

    def _html(self) -> str:
        """What stands below a cell of a notebook: no script, and no page around it."""
        # As wide as the cell at most, and with words for who does not see it.
        told = html.escape(str(self._specification.get("description", "chart")))
        picture = self._svg("currentColor").replace("<svg ", f'<svg role="img" aria-label="{told}" style="max-width: 100%; height: auto" ', 1)
        return f'<div class="sf-chart">{picture}</div>'

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: show() shows it, save('chart.html') writes it>"


def _library() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingLibraryError("drawing needs vl-convert: pip install sframe_spark[pictures]") from None
    return vl_convert


def _coloured(specification: dict[str, Any], ink: str, paper: str | None) -> dict[str, Any]:
    # The colour of a page is there on pages alone.
    config = json.loads(json.dumps(specification.get("config", {})).replace("currentColor", ink))
    return {**specification, "background": paper, "config": config}


def _without_data(specification: Any) -> Any:
    if isinstance(specification, dict):
        return {name: _without_data(part) for name, part in specification.items() if name != "data"}
    return [_without_data(part) for part in specification] if isinstance(specification, list) else specification
