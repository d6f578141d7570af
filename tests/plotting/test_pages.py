"""Pages: texts of data and of users are texts there, nothing is fetched, and rows are given to who knows the address."""

from __future__ import annotations

import re
import socket
import sys
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, visualization
from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.plotting import row_browser
from sframe_spark.plotting.plot_class_and_chart_choice import Plot
from sframe_spark.plotting.row_browser import PAGE_ROWS, RowPages, RowServer, first_rows

EVIL = "</script><script>document.title='changed'</script><img src=x onerror=\"document.title='changed'\">\x1b[2J\u202e\u2028'`${1}"
COLUMNS = {"number": list(range(120)), "text": [EVIL] * 120, EVIL: [1.5] * 120, "other": ["a", None] * 60, "nested": [{EVIL: EVIL}] * 120}


PICTURES: dict[str, Callable[[SFrame], Plot]] = {
    "summary": lambda frame: frame.summary_page(),
    "bars": lambda frame: frame["text"].plot(title=EVIL, xlabel=EVIL, ylabel=EVIL),
    "pairs": lambda frame: visualization.plot(frame["text"], frame["other"], EVIL, EVIL, EVIL),
    "boxes": lambda frame: visualization.plot(frame["text"], frame["number"]),
    "points": lambda frame: visualization.plot(frame["number"], frame[EVIL]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PICTURES)
def test_texts_of_data_are_texts(name: str, tmp_path: Path) -> None:
    chart = PICTURES[name](SFrame(COLUMNS))
    chart.save(tmp_path / "page.html")
    page, part = (tmp_path / "page.html").read_text(encoding="utf-8"), chart._html()
    # Behind the library, which has such texts of its own.
    for text in (page.split("vegaEmbed(document")[-1], part):
        assert "<script>document" not in text and "<img" not in text and "\x1b" not in text and "\u202e" not in text
    assert page.count("</script") <= 1
    assert "default-src 'none'" in page and "connect-src" not in page
    # Expressions are code: none is made of what the data or the user says.
    assert "changed" not in "".join(expressions(chart.get_vega()))


def expressions(part: Any) -> Iterator[str]:
    """What Vega runs."""
    if isinstance(part, list):
        for one in part:
            yield from expressions(one)
    elif isinstance(part, dict):
        for name, one in part.items():
            if isinstance(one, str) and name in ("calculate", "filter", "test", "labelExpr", "signal", "expr", "as", "field"):
                yield one
            yield from expressions(one)


@pytest.fixture
def server() -> Iterator[RowServer]:
    frame = SFrame(COLUMNS)
    frame.materialize()
    server = RowServer(frame._node, frame.column_names(), EVIL)
    yield server
    server.stop()


def read(address: str, host: str | None = None) -> str:
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def test_rows_come_page_by_page(server: RowServer) -> None:
    address = server.start()
    first = read(address)
    assert f"rows 0 to {PAGE_ROWS - 1} of 120" in first and first.count("<tr>") == PAGE_ROWS + 1
    assert "rows 100 to 119 of 120" in read(f"{address}?row=100") and "rows 119 to 119" in read(f"{address}?row=5000")
    for asked in ("-1", "x", "9" * 40, "\u00b2", "\0", ""):
        assert "rows 0 to 49" in read(f"{address}?{urllib.parse.urlencode({'row': asked, 'column': asked})}")
    for text in (first, read(f"{address}?row=100")):
        assert "<img" not in text and "\x1b" not in text and "<script" not in text


def test_only_who_knows_the_address_gets_rows(server: RowServer) -> None:
    address = server.start()
    port = urllib.parse.urlsplit(address).port
    for wrong, host in (
        (f"http://127.0.0.1:{port}/", None),
        (address[:-2] + "/", None),
        (address + "other", None),
        (address, "example.com"),
        (address, f"example.com:{port}"),
        (address, "127.0.0.1"),
        (address, f"127.0.0.1:{port}.example.com"),
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            read(wrong, host)
        with caught.value as answer:
            assert answer.code == 404 and server.secret not in answer.read().decode()
    assert "rows 0 to 49" in read(address, f"localhost:{port}")


def said(server: RowServer, request: bytes) -> bytes:
    """What a server answers to some bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_nothing_but_pages_is_given(server: RowServer) -> None:
    """Other methods and broken requests are refused; no answer may be framed, kept or read by pages of others, and none tells of the machine."""
    server.start()
    path, host = f"/{server.secret}/".encode(), f"Host: 127.0.0.1:{server.port}".encode()
    for method in (b"POST", b"PUT", b"DELETE", b"OPTIONS", b"HEAD", b"TRACE", b"CONNECT", b"GET /x"):
        status = said(server, method + b" " + path + b" HTTP/1.1\r\n" + host + b"\r\n\r\n").split(b" ")[1]
        assert status in (b"501", b"400", b"404"), method
    for request in (
        b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"\0\xff\r\n\r\n",
        b"GET " + path + b" HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ):
        assert b"number" not in said(server, request)
    fields = b"&".join([b"row=1"] * 5000)
    answer = said(server, b"GET " + path + b"?" + fields + b" HTTP/1.1\r\n" + host + b"\r\n\r\n")
    head = answer.split(b"\r\n\r\n")[0]
    assert b" 200 " in head and b"Python" not in head and b"Access-Control" not in head
    for name in (b"X-Frame-Options: DENY", b"frame-ancestors 'none'", b"no-store", b"no-referrer", b"nosniff", b"Resource-Policy: same-origin"):
        assert name in head
    assert b"script-src" not in answer and b"<script" not in answer


def test_connections_are_few_and_short(server: RowServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_browser, "PATIENCE", 0.3)
    address = server.start()
    before = threading.active_count()
    waiting = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(3 * row_browser.MAX_CONNECTIONS)]
    try:
        for connection in waiting[row_browser.MAX_CONNECTIONS :]:
            assert connection.recv(1) == b""
        assert threading.active_count() <= before + row_browser.MAX_CONNECTIONS
        # Who says nothing is left.
        for connection in waiting:
            assert connection.recv(1) == b""
    finally:
        for connection in waiting:
            connection.close()
    assert "rows 0 to 49" in read(address)


def test_errors_are_told_in_our_words(server: RowServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    address = server.start()
    for error, told in ((StorageError("<img> is gone"), "&lt;img&gt; is gone"), (OSError("/secret/path"), "The rows could not be read (OSError).")):
        monkeypatch.setattr(RowPages, "at", lambda *_, error=error: (_ for _ in ()).throw(error))
        with pytest.raises(urllib.error.HTTPError) as caught:
            read(address)
        with caught.value as answer:
            page = answer.read().decode()
        assert told in page and "secret" not in page and "<img" not in page
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(b"GET /")
    assert capfd.readouterr() == ("", "")


def test_the_address_is_in_no_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All users of a machine see with what a browser was started: that is a file, which its owner alone reads, and which leads on."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or len(opened) < 2)
    monkeypatch.setattr(RowServer, "start", lambda self: f"http://127.0.0.1:1/{self.secret}/")
    monkeypatch.setattr(row_browser.secrets, "token_urlsafe", lambda size: "hidden")
    with config.using(picture_target="browser"):
        SFrame(COLUMNS).explore()
        assert capsys.readouterr().err == ""
        SFrame(COLUMNS).explore()
    # Who has no browser there reads the address in the terminal, which is the user's own.
    assert "http://127.0.0.1:1/hidden/" in capsys.readouterr().err
    for address in opened:
        path = Path(urllib.parse.urlsplit(address).path)
        assert address.startswith("file://") and "hidden" not in address
        assert "url=http://127.0.0.1:1/hidden/" in path.read_text() and path.stat().st_mode & 0o777 == 0o600


def test_frames_of_many_columns_are_shown_in_parts() -> None:
    frame = SFrame({f"column {number:03d}": [number] for number in range(120)})
    server = RowServer(frame._node, frame.column_names(), "wide")
    try:
        address = server.start()
        assert "column 000<br/>" in read(address) and "column 050<br/>" not in read(address)
        last = read(f"{address}?column=100")
        assert "column 119<br/>" in last and "column 099<br/>" not in last and '<option value="100" selected>100 to 119: column 100</option>' in last
    finally:
        server.stop()


def test_a_notebook_has_the_first_thousand_rows() -> None:
    frame = SFrame({"number": range(1234), "text": [EVIL] * 1234})
    text = first_rows(frame._node, frame.column_names(), EVIL)
    # A page, and in each row of the first a text that unfolds.
    assert text.count("<details") == 20 + 1000 and ">999<" in text and ">1000<" not in text and "The first 1,000 rows" in text
    assert "<img" not in text and "<script" not in text
    assert "no rows" in first_rows(SFrame({"a": SArray([], int)})._node, ["a"], "empty")


class Observed:
    """Stands for a widget: assigned attributes are told to who observes them."""

    def __init__(self, **traits: Any) -> None:
        self.observers: dict[str, Any] = {}
        vars(self).update(traits)

    def observe(self, told: Any, name: str) -> None:
        self.observers[name] = told

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name != "observers" and name in self.observers:
            self.observers[name]({"new": value})


def widget(monkeypatch: pytest.MonkeyPatch, pages: RowPages) -> Any:
    monkeypatch.setitem(sys.modules, "anywidget", SimpleNamespace(AnyWidget=Observed))
    trait = SimpleNamespace(tag=lambda **_: None)
    monkeypatch.setitem(sys.modules, "traitlets", SimpleNamespace(Unicode=lambda: trait, Int=lambda: None, List=lambda *_: trait))
    return row_browser.widget_of_rows(pages)


def test_a_widget_asks_for_each_page(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = SFrame({"number": range(1234), "text": [EVIL] * 1234})
    frame.materialize()
    shown = widget(monkeypatch, RowPages(frame._node, tuple(frame.column_names()), EVIL))
    assert "rows 0 to 49 of 1,234" in shown.content and ">50<" not in shown.content
    shown.place = [1200, 0]
    assert "rows 1,200 to 1,233 of 1,234" in shown.content and ">1233<" in shown.content
    assert "<img" not in shown.content and "<script" not in shown.content
    monkeypatch.setattr(RowPages, "content", lambda *_: (_ for _ in ()).throw(OSError("/secret/path")))
    shown.place = [0, 0]
    assert shown.content == "<p>The rows could not be read (OSError).</p>"


def test_styles_stay_in_their_pictures() -> None:
    """Each rule in a cell of a notebook begins with a name of ours: others are those of the notebook, or of another library in it."""
    frame = SFrame(COLUMNS)
    for text in (first_rows(frame._node, frame.column_names(), ""), frame._repr_html_(), frame["text"]._repr_html_(), frame.summary_page()._html()):
        style = text.split("<style>")[1].split("</style>")[0]
        selectors = [one.strip() for group in re.findall(r"([^{}]+)\{", style) for one in group.split(",") if not group.strip().startswith("@")]
        assert selectors and all(re.match(r"(div)?\.sf-", selector) for selector in selectors)
        for names in re.findall(r'class="([^"]*)"', text):
            assert all(name.startswith("sf-") for name in names.split()), names


def test_long_texts_unfold_and_others_do_not() -> None:
    frame = SFrame({"text": ["short", "long " * 30, "x" * 10**5]})
    text = first_rows(frame._node, ["text"], "")
    assert text.count("<summary>") == 1 + 2 and "long " * 29 in text and len(text) < 10_000
