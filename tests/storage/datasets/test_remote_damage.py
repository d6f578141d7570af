"""Objects that were cut, lengthened, changed or removed are told, and manifests lead nowhere: right rows or an error, and never other rows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

from sframe_spark import SFrame, history, load_sframe, vacuum
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets import numbered_versions_of_remote_frames as remote_versions
from sframe_spark.storage.filesystem.remote_operations import read_range
from sframe_spark.storage.manifest.manifest_json import sealed, unsealed
from sframe_spark.storage.parquet.footer import _load
from tests.examples import examples, part
from tests.storage.damage import frame_of_every_type, save_in_segments
from tests.storage.datasets.conftest import Bucket


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A frame of three files, of two row groups each, of which tests have copies."""
    here = tmp_path_factory.mktemp("damage")
    save_in_segments(here)
    load_sframe(str(here / "frame")).save("memory://damage-original/frame")
    yield "/damage-original"
    fsspec.filesystem("memory").rm("/damage-original", recursive=True)


@pytest.fixture
def place(original: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A copy of it that may be damaged."""
    name = f"damage-{abs(hash(request.node.name))}"
    fsspec.filesystem("memory").copy(original, f"/{name}", recursive=True)
    yield f"memory://{name}/frame"
    fsspec.filesystem("memory").rm(f"/{name}", recursive=True)


def files_of(place: str) -> list[str]:
    """Names of the files of rows, in order."""
    return [f"{place.removeprefix('memory:/')}/{entry.file}" for entry in remote_versions.load_remote(place).segments]


def change(name: str, to: Callable[[bytes], bytes]) -> None:
    """Change an object, as nobody should; what is known of its footer is forgotten."""
    memory = fsspec.filesystem("memory")
    memory.pipe_file(name, to(memory.cat_file(name)))
    _load.cache_clear()


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[:-1],
    "cut short": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "longer": lambda content: content + b"\0",
    "doubled": lambda content: content + content,
    "footer": lambda content: content[:-20] + bytes([content[-20] ^ 1]) + content[-19:],
    "zeros": lambda content: bytes(len(content)),
}


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("number", [0, 2])
def test_files_that_are_others(place: str, kind: str, number: int) -> None:
    name = files_of(place)[number]
    change(name, CHANGES[kind])
    with pytest.raises(StorageError, match=name.rpartition("/")[2]):
        list(load_sframe(place))
    with pytest.raises(StorageError, match=name.rpartition("/")[2]):
        load_sframe(place, verify=True)


def test_files_that_are_gone(place: str) -> None:
    name = files_of(place)[1]
    fsspec.filesystem("memory").rm_file(name)
    frame = load_sframe(place)
    assert frame[5]["number"] == 5
    with pytest.raises(StorageError, match=r"segment-.*does not exist; somebody has deleted it: load the frame again"):
        frame[300]


LOOKS: dict[str, Callable[[SFrame, str], object]] = {
    "rows": lambda frame, place: list(frame),
    "sum": lambda frame, place: frame["n"].apply(lambda n: n + 1).sum(),
    "sort": lambda frame, place: frame.sort("n", ascending=False)[0],
    "group by": lambda frame, place: list(frame.groupby("n", {})),
    "save": lambda frame, place: frame.save(place),
    "save elsewhere": lambda frame, place: frame.save("memory://another/frame"),
    "export": lambda frame, place: frame.export_csv(place),
    "Arrow": lambda frame, place: frame.to_arrow(),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_checkpoint_that_somebody_has_deleted_is_told_with_what_to_do(tmp_path: Path, look: str) -> None:
    frame = SFrame({"n": range(1000)})
    frame["m"] = frame["n"] * 2
    frame.checkpoint("memory://deleted/checkpoint")
    fsspec.filesystem("memory").rm("/deleted/checkpoint", recursive=True)
    with pytest.raises(StorageError, match=r"does not exist; somebody has deleted it: load the frame again.*, or make the frame anew") as told:
        LOOKS[look](frame, str(tmp_path / "out"))
    assert "\n" not in str(told.value)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", part(range(examples(40, every=1)), 6))
def test_any_byte_of_a_file(place: str, number: int) -> None:
    """Right rows, or an error that names the file; each time from the beginning, as nothing is checked twice."""
    chance = random.Random(number)
    name = files_of(place)[chance.randrange(3)]
    expected = list(frame_of_every_type())
    place_of_byte = []

    def flipped(content: bytes) -> bytes:
        place_of_byte.append(chance.randrange(len(content)))
        return content[: place_of_byte[0]] + bytes([content[place_of_byte[0]] ^ 1 << chance.randrange(8)]) + content[place_of_byte[0] + 1 :]

    change(name, flipped)
    frame = load_sframe(place)
    try:
        assert list(frame) == expected
    except StorageError as error:
        assert name.rpartition("/")[2] in str(error)
    with pytest.raises(StorageError):
        load_sframe(place, verify=True)


def manifest_file(place: str, number: int = 1) -> str:
    return remote_versions.manifest_location(place, number).removeprefix("memory:/")


@pytest.mark.parametrize("at", [0.0, 0.01, 0.3, 0.7, 0.999])
def test_manifests_that_are_damaged(place: str, at: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_versions, "_SECONDS_BETWEEN", 0.0)
    before = list(frame_of_every_type())
    SFrame({"a": [1]}).save(place)
    name = manifest_file(place, 2)
    good = fsspec.filesystem("memory").cat_file(name)
    position = int(len(good) * at)
    for bad in (good[:position], good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :]):
        change(name, lambda _, bad=bad: bad)  # type: ignore[misc]
        for work in (load_sframe, history):
            with pytest.raises(StorageError):
                work(place)
        with pytest.raises(StorageError):
            vacuum(place, older_than=0)
        assert list(load_sframe(place, version=1)) == before
    SFrame({"a": [3]}).save(place)
    assert list(load_sframe(place)["a"]) == [3]


def test_a_manifest_that_is_being_written_is_waited_for(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = manifest_file(place)
    good = fsspec.filesystem("memory").cat_file(name)
    change(name, lambda content: content[:100])
    monkeypatch.setattr(remote_versions.time, "sleep", lambda seconds: change(name, lambda _: good))
    assert len(load_sframe(place)) == 600


@pytest.mark.parametrize(
    "name",
    [
        "../other/segment-00000000-0.parquet",
        "data/../../x.parquet",
        "/etc/passwd",
        "memory://other/x.parquet",
        "s3://bucket/x.parquet",
        "data//x.parquet",
        "data/./x.parquet",
        "other/x.parquet",
        "x.parquet",
        "data/x:y.parquet",
        "data/_x.parquet",
        "data/x\0.parquet",
        "",
    ],
)
def test_manifests_lead_nowhere_else(place: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def led(content: bytes) -> bytes:
        found = unsealed(content.decode(), place)
        found["segments"][0]["file"] = name
        return sealed(found).encode()

    change(manifest_file(place), led)
    monkeypatch.setattr(remote_versions, "read_range", remote_versions.read_range)
    with pytest.raises(StorageError, match="is damaged"):
        load_sframe(place)


@pytest.mark.parametrize("field", ["tail", "pages", "size"])
def test_manifests_without_check_sums_are_refused(place: str, field: str) -> None:
    def without(content: bytes) -> bytes:
        found = unsealed(content.decode(), place)
        found["segments"][0][field] = None
        return sealed(found).encode()

    change(manifest_file(place), without)
    with pytest.raises(StorageError, match="is damaged"):
        load_sframe(place)


@pytest.mark.parametrize("value", [[], [[1]], [[0] * 10], "x", 5, [["a"] * 10] * 2, [[-1] * 10] * 2, [[True] * 10] * 2, {"a": 1}])
def test_check_sums_of_row_groups_that_are_none(place: str, value: object) -> None:
    """They are refused, or not believed: rows are compared with those of the whole file then."""

    def changed(content: bytes) -> bytes:
        found = unsealed(content.decode(), place)
        found["segments"][0]["group_pages"] = value
        return sealed(found).encode()

    change(manifest_file(place), changed)
    try:
        assert list(load_sframe(place)) == list(frame_of_every_type())
    except StorageError as error:
        assert "is damaged" in str(error)


@pytest.mark.parametrize("saved", [None, 5, "yesterday", "2020-01-01", "2020-01-01T00:00:00"])
def test_times_that_are_none(place: str, saved: object) -> None:
    def changed(content: bytes) -> bytes:
        found = unsealed(content.decode(), place)
        found["saved"] = saved
        return sealed(found).encode()

    change(manifest_file(place), changed)
    with pytest.raises(StorageError, match="which is not a valid time"):
        history(place)


# One version has one name.
ZEROS = ("00000000.json", "000000001.json", "000000000000000002.json")


def test_strange_names_among_manifests_are_no_versions(bucket: Bucket) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [1]}).save(place)
    root = place.removeprefix("s3://") + "/_manifests/"
    for name in ("x.json", "2.json", "-0000001.json", "00000002.json.tmp", "00000003/x.json", "٠٠٠٠٠٠٠٤.json", f"{'9' * 30}.json", *ZEROS):
        bucket.files.pipe_file(root + name, json.dumps({}).encode())
    assert list(load_sframe(place)["a"]) == [1] and list(history(place)["version"]) == [1]


def test_there_is_no_version_after_the_last(bucket: Bucket) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [1]}).save(place)
    manifest = bucket.files.cat_file(f"{place}/_manifests/00000001.json")
    bucket.files.pipe_file(f"{place}/_manifests/{remote_versions.MAX_VERSIONS}.json", manifest)
    before = bucket.names()
    with pytest.raises(StorageError, match="save to another place"):
        SFrame({"a": [2]}).save(place)
    assert bucket.names() == before and list(load_sframe(place)["a"]) == [1]


def test_manifests_of_no_bytes(bucket: Bucket) -> None:
    place = bucket.uri + "/frame"
    SFrame({"a": [1]}).save(place)
    bucket.files.pipe_file(f"{place}/_manifests/00000001.json", b"")
    for work in (load_sframe, history, vacuum):
        with pytest.raises(StorageError, match="is incomplete"):
            work(place)


@pytest.mark.parametrize("kind", ["cut", "empty", "longer"])
def test_no_copy_is_made_of_what_was_cut(bucket: Bucket, kind: str) -> None:
    place, copy = bucket.uri + "/frame", bucket.uri + "/copy"
    SFrame({"a": [1]}).save(place)
    frame = load_sframe(place)
    (name,) = (name for name in bucket.names() if name.endswith(".parquet"))
    bucket.files.pipe_file(f"{bucket.uri}/{name}", CHANGES[kind](bucket.files.cat_file(f"{bucket.uri}/{name}")))
    with pytest.raises(StorageError, match="a copy of one that was truncated or replaced"):
        frame.save(copy)
    assert not [name for name in bucket.names() if name.startswith("copy/")]


def test_ranges_after_the_end_are_told_in_words(bucket: Bucket) -> None:
    bucket.files.pipe_file(bucket.uri + "/x", b"12345")
    assert read_range(bucket.uri + "/x", 3, 3) == b""
    with pytest.raises(StorageError, match="shorter than it should be"):
        read_range(bucket.uri + "/x", 10, 12)
