"""Pages: texts of data and of users are texts there, nothing is fetched, and rows are given to who knows the address."""

from __future__ import annotations

import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sframe_spark import SArray, SFrame, visualization
from sframe_spark.api.pictures.explorer import PAGE_ROWS, RowServer, first_rows
from sframe_spark.api.pictures.plot import Plot

EVIL = "</script><script>document.title='changed'</script><img src=x onerror=\"document.title='changed'\">\x1b[2J\u202e\u2028'`${1}"
COLUMNS = {"number": list(range(120)), "text": [EVIL] * 120, EVIL: [1.5] * 120, "other": ["a", None] * 60, "nested": [{EVIL: EVIL}] * 120}


def pictures() -> dict[str, Plot]:
    frame = SFrame(COLUMNS)
    return {
        "summary": frame.summary_page(),
        "bars": frame["text"].plot(title=EVIL, xlabel=EVIL, ylabel=EVIL),
        "pairs": visualization.plot(frame["text"], frame["other"], EVIL, EVIL, EVIL),
        "boxes": visualization.plot(frame["text"], frame["number"]),
        "points": visualization.plot(frame["number"], frame[EVIL]),
    }


@pytest.mark.parametrize("name", ["summary", "bars", "pairs", "boxes", "points"])
def test_texts_of_data_are_texts(name: str, tmp_path: Path) -> None:
    chart = pictures()[name]
    chart.save(tmp_path / "page.html")
    page, part = (tmp_path / "page.html").read_text(encoding="utf-8"), chart._html()
    # Behind the library, which has such texts of its own.
    for text in (page.split("vegaEmbed(document")[-1], part):
        assert "<script>document" not in text and "<img" not in text and "\x1b" not in text and "\u202e" not in text
    assert page.count("</script") <= 1
    assert "default-src 'none'" in page and "connect-src" not in page


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
    assert f"rows 0 to {PAGE_ROWS - 1} of 120" in first and first.count("<tr>") == PAGE_ROWS + 2
    assert "rows 100 to 119 of 120" in read(f"{address}?row=100") and "rows 119 to 119" in read(f"{address}?row=5000")
    for asked in ("-1", "x", "9" * 40, "\u00b2", "\0", ""):
        assert "rows 0 to 49" in read(f"{address}?{urllib.parse.urlencode({'row': asked, 'column': asked})}")
    for text in (first, read(f"{address}?row=100")):
        assert "<img" not in text and "\x1b" not in text and "<script" not in text


def test_only_who_knows_the_address_gets_rows(server: RowServer) -> None:
    address = server.start()
    port = urllib.parse.urlsplit(address).port
    for wrong, host in ((f"http://127.0.0.1:{port}/", None), (address[:-2] + "/", None), (address, "example.com"), (address, f"example.com:{port}")):
        with pytest.raises(urllib.error.HTTPError) as caught:
            read(wrong, host)
        assert caught.value.code == 404
        caught.value.close()
    assert "rows 0 to 49" in read(address, f"localhost:{port}")


def test_frames_of_many_columns_are_shown_in_parts() -> None:
    frame = SFrame({f"column {number:03d}": [number] for number in range(120)})
    server = RowServer(frame._node, frame.column_names(), "wide")
    try:
        address = server.start()
        assert "column 000" in read(address) and "column 050" not in read(address)
        assert "column 119" in read(f"{address}?column=100") and "column 099" not in read(f"{address}?column=100")
    finally:
        server.stop()


def test_a_notebook_has_the_first_thousand_rows() -> None:
    frame = SFrame({"number": range(1234), "text": [EVIL] * 1234})
    text = first_rows(frame._node, frame.column_names(), EVIL)
    assert text.count("<details") == 20 and ">999<" in text and ">1000<" not in text and "The first 1,000 rows" in text
    assert "<img" not in text and "<script" not in text
    assert "rows 0 to 0" in first_rows(SFrame({"a": SArray([], int)})._node, ["a"], "empty")


CHROMIUM = shutil.which("chromium")
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
@pytest.mark.parametrize("name", ["summary", "bars", "pairs", "boxes", "points"])
def test_a_browser_draws_and_obeys_no_data(name: str, tmp_path: Path) -> None:
    pictures()[name].save(tmp_path / "page.html")
    command = [str(CHROMIUM), *QUIET.split(), f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", "--dump-dom"]
    drawn = subprocess.run([*command, f"file://{tmp_path / 'page.html'}"], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "<svg" in drawn and "<title>changed</title>" not in drawn
    assert "<path" in drawn or "<rect" in drawn
