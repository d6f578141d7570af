"""Columns of images by every path: in process and on Spark, through files, plans and other libraries; headers and pixels of hostile bytes."""

from __future__ import annotations

import array
import base64
import io
import logging
import pickle
import re
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import Image, SArray, SFrame, aggregate, image_analysis, load_images, load_sframe
from sframe_spark.api.display import MAX_PICTURE_BYTES
from sframe_spark.errors import DamagedValueError, ImageError, MissingImageError, MissingLibraryError, PixelError, SchemaError, StorageError
from sframe_spark.expressions.image_resizing import bilinear, nearest, with_channels
from sframe_spark.images import parts_of_file, png_of_pixels
from sframe_spark.planner.row_sizes import fixed_size
from sframe_spark.types import IMAGE, IMAGE_PHYSICAL, STR
from sframe_spark.values import image_columns
from sframe_spark.values.image_columns import image_column, images, key_of_image
from sframe_spark.values.plain_values import agree
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, encode_value
from tests.examples import examples

RANDOM = np.random.default_rng(7)


def raw(height: int, width: int, channels: int = 1, seed: int = 0) -> Image:
    """An image of random pixels."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    return Image(np.random.default_rng([height, width, channels, seed]).integers(0, 256, shape, dtype=np.uint8))


def png(height: int, width: int, channels: int = 1, seed: int = 0) -> Image:
    """The same as a PNG file."""
    return Image(png_of_pixels(raw(height, width, channels, seed).pixel_data))


def jpeg_header(height: int, width: int, channels: int, before: bytes = b"\xff\xe0\x00\x04ab") -> bytes:
    """The bytes of a JPEG file up to its pixels, which do not follow."""
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 8 + 3 * channels, 8, height, width, channels) + b"\0\0\0" * channels
    return b"\xff\xd8" + before + frame + b"\xff\xda\x00\x04ab"


SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from([1, 3, 4]), st.integers(0, 2))
IMAGES = st.one_of(
    SIZES.map(lambda size: raw(*size)),
    SIZES.map(lambda size: png(*size)),
    st.just(Image()),
    st.integers(1, 3).map(lambda number: Image(jpeg_header(number, 2, 3))),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.none() | IMAGES, max_size=6))
def test_any_images_are_what_they_were(values: list[Any]) -> None:
    assert images(image_column(values)) == values
    column = SArray(values, Image)
    assert column.dtype is Image and list(column) == values and list(column[1::2]) == values[1::2]
    assert list(SArray(column.to_arrow())) == values
    assert list(pickle.loads(pickle.dumps(column))) == values
    assert list(pickle.loads(pickle.dumps(values))) == values
    assert [decode_value(encode_value([value])) for value in values] == [[value] for value in values]
    assert list(SArray([[value] for value in values], list).apply(lambda items: items[0], Image)) == values
    assert list(SFrame(SFrame({"i": column}).to_pandas())["i"]) == values or not any(values)
    assert list(column.astype(str)) == [None if value is None else f"Height: {value.height} Width: {value.width}" for value in values]


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.none() | IMAGES, st.none() | IMAGES), min_size=1, max_size=6))
def test_images_are_equal_where_their_bytes_are(pairs: list[tuple[Any, Any]]) -> None:
    left, right = (SArray(list(side), Image) for side in zip(*pairs, strict=True))
    assert list(left == right) == [int(a == b) for a, b in pairs]
    assert list(left != right) == [int(a != b) for a, b in pairs]
    assert list(left == pairs[0][1]) == [int(a == pairs[0][1]) for a, _ in pairs]
    assert list(left.is_in([right[0]])) == [int(a == pairs[0][1]) for a, _ in pairs]
    distinct = {None if a is None else key_of_image(a) for a, _ in pairs}
    assert len(left.unique()) == len(distinct)
    counts = SFrame({"i": left}).groupby("i", {"n": aggregate.COUNT()})
    assert sum(counts["n"]) == len(pairs) and len(counts) == len(distinct)


FRAME = {"k": [1, 1, 2, 2], "i": [raw(2, 3), None, png(1, 2, 3), raw(2, 3)], "j": [png(1, 2, 3), raw(1, 1), png(1, 2, 3), None]}
PROGRAMS: dict[str, Callable[[SFrame], Any]] = {
    "height": lambda sf: sf["i"].apply(lambda image: image.height),
    "made": lambda sf: sf.apply(lambda row: row["j"] if row["i"] is None else row["i"]),
    "filtered": lambda sf: sf[sf["i"] == raw(2, 3)],
    "equal": lambda sf: sf["i"] == sf["j"],
    "truth": lambda sf: [sf["i"].any(), sf["i"].all(), sf["i"].nnz()],
    "filled": lambda sf: sf["i"].fillna(raw(1, 1)),
    "chosen": lambda sf: SArray.where(sf["k"] == 1, sf["i"], sf["j"]),
    "without": lambda sf: sf.dropna(),
    "texts": lambda sf: sf["i"].astype(str),
    "pixels": lambda sf: sf["i"].filter(lambda image: image.format == "raw").astype(array.array),
    "keys": lambda sf: sf.groupby("i", {"n": aggregate.COUNT()}).sort("n"),
    "lists": lambda sf: sf.groupby("k", {"all": aggregate.CONCAT("i"), "one": aggregate.SELECT_ONE("j"), "n": aggregate.COUNT_DISTINCT("i")}).sort(
        "k"
    ),
    "first": lambda sf: sf.groupby("k", {"best": aggregate.ARGMAX("k", "j")}).sort("k"),
    "joined": lambda sf: sf.join(SFrame({"i": [raw(2, 3)], "m": [5]}), on="i").sort("k"),
    "appended": lambda sf: sf.append(sf)["i"],
    "packed": lambda sf: sf.pack_columns(["i", "k"], new_column_name="p"),
    "unpacked": lambda sf: sf.pack_columns(["i", "k"], new_column_name="p", dtype=dict).unpack("p"),
    "stacked": lambda sf: sf.pack_columns(["i", "j"], new_column_name="p").stack("p", "x"),
    "sorted": lambda sf: sf.sort("k", ascending=False)["i"],
    "resized": lambda sf: image_analysis.resize(sf["i"].filter(lambda image: image.format == "raw"), 2, 2, decode=True),
    "sampled": lambda sf: sf["i"].hash(),
}


def outcome(program: Callable[[SFrame], Any], frame: SFrame) -> Any:
    found = program(frame)
    return found if isinstance(found, list) else list(found)


EXPECTED = {name: outcome(program, SFrame(FRAME)) for name, program in PROGRAMS.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_same_rows_from_files(name: str, tmp_path: Path) -> None:
    SFrame(FRAME).save(str(tmp_path / "saved"))
    SFrame(FRAME).write_parquet(str(tmp_path / "parquet"))
    for frame in (load_sframe(str(tmp_path / "saved"), verify=True), SFrame.read_parquet(str(tmp_path / "parquet"))):
        assert frame.column_types() == [Image, Image, int]
        assert agree(outcome(PROGRAMS[name], frame), EXPECTED[name])


@pytest.mark.spark
def test_programs_give_the_same_rows_on_spark(spark: Any, everything_on_spark: None) -> None:
    there = SFrame(SFrame(FRAME).to_spark())
    assert there.column_types() == [Image, Image, int]
    assert str(SFrame(SFrame(FRAME).to_spark())).splitlines()[:8] == str(SFrame(FRAME)).splitlines()[:8]
    found = {name: outcome(program, there) for name, program in PROGRAMS.items()}
    assert [name for name in PROGRAMS if not agree(found[name], EXPECTED[name])] == []


def test_images_of_one_size_in_a_plan_are_told_apart() -> None:
    """What is printed of two images is the same, and so is not what tells their nodes apart."""
    column = SArray([None], Image)
    assert list(column.fillna(raw(2, 3, seed=1))) == [raw(2, 3, seed=1)]
    assert list(column.fillna(raw(2, 3, seed=2))) == [raw(2, 3, seed=2)]
    assert list(SArray([raw(2, 3, seed=1)]) == raw(2, 3, seed=2)) == [0]


def test_the_size_of_images_is_unknown_before_they_are_there() -> None:
    assert fixed_size(IMAGE) is None


# What is refused.


def test_what_has_no_order_and_no_numbers_is_refused() -> None:
    column, frame = SArray([raw(1, 1), None]), SFrame({"i": [raw(1, 1)], "k": [1]})
    for refused, error in (
        (lambda: column.sort(), TypeError),
        (lambda: frame.sort("i"), TypeError),
        (lambda: column + 1, RuntimeError),
        (lambda: column < raw(1, 1), RuntimeError),
        (lambda: column.sum(), RuntimeError),
        (lambda: column.astype(int), RuntimeError),
        (lambda: SArray([array.array("d", [1.0])]).astype(Image), TypeError),
        (lambda: frame.groupby("k", {"m": aggregate.MEAN("i")}), RuntimeError),
        (lambda: SArray([raw(1, 1), "a"]), TypeError),
        (lambda: column.pixel_array_to_image(1, 1, 1), TypeError),
        (lambda: image_analysis.resize(SArray([1]), 1, 1), ValueError),
        (lambda: image_analysis.get_deep_features, AttributeError),
    ):
        with pytest.raises(error):
            refused()


def test_images_do_not_go_to_databases() -> None:
    with pytest.raises(SchemaError, match="column 'i' holds values of image"):
        SFrame({"i": [raw(1, 1)]}).write_jdbc("jdbc:derby:x", "t")


# Headers.


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from([jpeg_header(3, 2, 3), png(3, 2, 3).data, png(1, 1).data]), st.data())
def test_bytes_of_any_kind_are_an_image_or_an_image_error(start: bytes, data: Any) -> None:
    cut = start[: data.draw(st.integers(0, len(start)))]
    place = data.draw(st.integers(0, max(len(cut) - 1, 0)))
    changed = cut[:place] + data.draw(st.binary(max_size=4)) + cut[place + 1 :]
    for content in (cut, changed):
        try:
            image = Image(content)
        except ImageError:
            continue
        assert image.data == content and image.height > 0 and image.width > 0


def test_headers_tell_the_size() -> None:
    assert parts_of_file(jpeg_header(40, 30, 3))[2:] == (40, 30, 3)
    assert parts_of_file(jpeg_header(40, 30, 1, before=b"\xff\xff\xff\xfe\x00\x06\xff\xc0ab\x01"))[2:] == (40, 30, 1)
    # What looks like a frame within another part is none.
    inside = b"\xff\xe1" + struct.pack(">H", 21) + jpeg_header(9, 9, 1)[8:27]
    assert parts_of_file(jpeg_header(40, 30, 3, before=inside))[2:] == (40, 30, 3)
    assert (png(7, 5, 4).height, png(7, 5, 4).width, png(7, 5, 4).channels) == (7, 5, 4)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"hello", "its first bytes are of neither"),
        (b"GIF89a", "it is GIF"),
        (b"RIFF....WEBP", "it is WEBP"),
        (jpeg_header(1, 1, 4), "other pixels than gray and RGB"),
        (jpeg_header(0, 1, 3), "has no pixels"),
        (jpeg_header(1, 1, 3)[:20], "cut off or damaged"),
        (png(1, 1).data[:20], "cut off or damaged"),
        (png(1, 1).data.replace(b"IHDR", b"IHDX"), "cut off or damaged"),
        (png(1, 1).data[:25] + b"\4" + png(1, 1).data[26:], "gray pixels with alpha"),
    ],
)
def test_other_files_are_refused_with_what_they_are(content: bytes, words: str) -> None:
    with pytest.raises(ImageError, match=words):
        Image(content)


def test_images_are_made_of_bytes_files_arrays_and_parts(tmp_path: Path) -> None:
    image = png(2, 3, 3)
    path = tmp_path / "a.png"
    image.save(path)
    with open(path, "rb") as file:
        assert Image(path) == Image(str(path)) == Image(path.as_uri()) == Image(image.data) == Image(file) == Image(io.BytesIO(image.data)) == image
    assert Image(image) == image and hash(Image(image)) == hash(image) and image != raw(2, 3, 3) and image != 5
    assert Image(str(path), "PNG") == image
    known = {"_image_data": b"abc", "_height": 1, "_width": 1, "_channels": 3, "_image_data_size": 3, "_version": 1, "_format_enum": 2}
    assert Image(**known).pixel_data.tolist() == [[[97, 98, 99]]]
    for wrong in (
        lambda: Image(5),
        lambda: Image(np.zeros((2, 2))),
        lambda: Image(np.zeros(2, "uint8")),
        lambda: Image(io.StringIO("a")),
        lambda: Image(None, what=1),
        lambda: Image("a", **known),
        lambda: Image(str(path), "gif"),
        lambda: Image(str(path), 5),
        lambda: Image(**(known | {"_width": 2})),
        lambda: Image(**(known | {"_format_enum": 9})),
        lambda: image.save(tmp_path / "a.gif"),
    ):
        with pytest.raises((SchemaError, ValueError, TypeError)):
            wrong()
    with pytest.raises(ImageError, match="no JPEG image: it is PNG"):
        Image(str(path), "JPG")
    with pytest.raises(MissingImageError, match="it does not exist"):
        Image(tmp_path / "b.png")
    with pytest.raises(MissingImageError):
        Image(tmp_path)
    # No path is a pattern.
    with pytest.raises(MissingImageError):
        Image(f"{tmp_path}/*.png")


# Directories and paths.


def test_images_are_loaded_from_directories(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "sub").mkdir()
    for name, content in {
        "b.png": png(1, 2, 3).data,
        "a.JPG": jpeg_header(3, 4, 1),
        "sub/c.jpeg": jpeg_header(5, 6, 3, before=b"\xff\xe1" + struct.pack(">H", 65_000) + bytes(64_998) + b"\xff\xe2\x27\x10" + bytes(9998)),
        "sub/broken.png": png(1, 2).data[:30],
        "note.txt": b"x",
        "d.png.txt": png(1, 2).data,
    }.items():
        (tmp_path / name).write_bytes(content)
    with caplog.at_level(logging.WARNING, "sframe_spark"):
        frame = load_images(str(tmp_path))
    assert "broken.png: the header of the PNG image is cut off" in caplog.text and "note.txt" not in caplog.text
    assert list(frame["path"]) == [str(tmp_path / name) for name in ("a.JPG", "b.png", "sub/c.jpeg")]
    assert [(image.format, image.height, image.width, image.channels) for image in frame["image"]] == [
        ("jpeg", 3, 4, 1),
        ("png", 1, 2, 3),
        ("jpeg", 5, 6, 3),
    ]
    assert frame.column_types() == [str, Image]
    assert load_images(tmp_path, with_path=False, recursive=False).column_names() == ["image"]
    assert len(load_images(tmp_path, recursive=False)) == 2
    assert sorted(load_images(tmp_path, random_order=True)["path"]) == list(frame["path"])
    assert list(load_images(tmp_path, "PNG", recursive=False)["path"]) == [str(tmp_path / name) for name in ("b.png", "d.png.txt")]
    assert list(load_images(str(tmp_path / "b.png"))["image"]) == [png(1, 2, 3)]
    with pytest.raises(ImageError, match=r"broken\.png"):
        load_images(tmp_path, ignore_failure=False)
    with pytest.raises(RuntimeError, match="there is no directory"):
        load_images(str(tmp_path / "none"))
    # Bytes are read when rows are computed.
    (tmp_path / "b.png").write_bytes(png(9, 9).data)
    fresh = load_images(tmp_path, recursive=False)
    (tmp_path / "b.png").write_bytes(png(8, 8).data)
    assert list(fresh["image"])[1] == png(8, 8)


def test_paths_become_images(tmp_path: Path) -> None:
    png(2, 3).save(tmp_path / "a.png")
    paths = SArray([str(tmp_path / "a.png"), None, str(tmp_path / "b.png")])
    assert list(paths.astype(Image, undefined_on_failure=True)) == [png(2, 3), None, None]
    assert list(paths[:2].astype(Image)) == list(paths[:2].apply(Image)) == [png(2, 3), None]
    with pytest.raises(OSError, match=r"b\.png"):
        list(paths.astype(Image))


def test_results_of_functions_stop_where_they_have_enough_bytes(monkeypatch: pytest.MonkeyPatch, called_functions: None) -> None:
    from sframe_spark.config import config

    with config.using(batch_bytes=1 << 20):
        made = SArray(range(200)).apply(lambda number: Image(np.full((300, 300), number % 256, "uint8")), Image)
        assert [image.data[0] for image in made] == [number % 256 for number in range(200)]


# Pixels.


def test_arrays_become_images_and_images_arrays() -> None:
    images_of = SArray([raw(2, 3, 4), None])
    assert list(images_of.astype(array.array).pixel_array_to_image(3, 2, 4)) == [raw(2, 3, 4), None]
    assert images_of.astype(np.ndarray)[0].shape == (2, 3, 4) and images_of.astype(np.ndarray)[1] is None
    assert SArray([raw(2, 3)], np.ndarray)[0].shape == (2, 3)
    column = SArray([array.array("d", [0, 255, 1]), array.array("d", [1])])
    assert list(column.pixel_array_to_image(1, 3, 1))[1] is None
    with pytest.raises(ImageError, match="1 numbers are no image of 3 x 1 pixels of 1 channels"):
        list(column.pixel_array_to_image(1, 3, 1, undefined_on_failure=False))
    for wrong in (256.0, -1.0, 0.5, float("nan"), float("inf")):
        with pytest.raises(PixelError):
            list(SArray([array.array("d", [wrong])]).pixel_array_to_image(1, 1, 1))
    assert SArray([array.array("d", [254.9])]).pixel_array_to_image(1, 1, 1, allow_rounding=True)[0].pixel_data.tolist() == [[254]]


def test_the_mean_of_images_is_that_of_their_pixels() -> None:
    values = [raw(3, 2, 3, seed) for seed in range(5)]
    mean = np.floor(np.mean([image.pixel_data.astype(float) for image in values], axis=0))
    assert SArray([*values, None]).mean() == Image(mean.astype(np.uint8))
    with pytest.raises(RuntimeError):
        SArray([raw(3, 2), raw(2, 3)]).mean()
    assert SArray([None], Image).mean() is None


@settings(max_examples=examples(60), deadline=None)
@given(SIZES, st.integers(1, 12), st.integers(1, 12))
def test_other_sizes_hold_what_the_old_ones_did(size: tuple[int, int, int, int], height: int, width: int) -> None:
    pixels = raw(*size).pixel_data.reshape(size[:3])
    near, smooth = nearest(pixels, height, width), bilinear(pixels, height, width)
    assert near.shape == smooth.shape == (height, width, size[2])
    for axis, (old, new) in enumerate(zip(size[:2], (height, width), strict=True)):
        # The first and the last row, and column, are the old ones.
        if new > 1:
            for found in (near, smooth):
                assert set(np.unique(found.take([0, -1], axis))) <= set(range(pixels.take([0, -1 % old], axis).min(), int(pixels.max()) + 1))
    assert set(np.unique(near)) <= set(np.unique(pixels))
    assert smooth.min() >= pixels.min() and smooth.max() <= pixels.max()
    assert (nearest(pixels, size[0], size[1]) == pixels).all() and (bilinear(pixels, size[0], size[1]) == pixels).all()
    assert (with_channels(with_channels(pixels[:, :, :1], 3), 1) == pixels[:, :, :1]).all()


def test_png_files_are_those_of_their_pixels() -> None:
    """Decoded here, without Pillow: rows are as they are, or differences from the pixel to the left or above."""
    for channels in (1, 3, 4):
        ramp = np.indices((9, 8, channels)).sum(0).astype(np.uint8)
        for pixels in (ramp, raw(9, 8, channels).pixel_data.reshape(9, 8, channels), np.zeros((9, 8, channels), np.uint8)):
            data = png_of_pixels(pixels.reshape(9, 8) if channels == 1 else pixels)
            start = data.index(b"IDAT") + 4
            rows = zlib.decompress(data[start : data.index(b"IEND") - 8])
            length, above = 8 * channels, np.zeros(8 * channels, np.uint8)
            for row in range(9):
                kind, line = rows[row * (length + 1)], np.frombuffer(rows, np.uint8, length, row * (length + 1) + 1).copy()
                if kind == 1:
                    line = np.cumsum(line.reshape(8, channels), axis=0, dtype=np.uint8).ravel()
                elif kind == 2:
                    line = line + above
                assert kind in (0, 1, 2) and (line == pixels[row].ravel()).all()
                above = line


def test_pixels_of_files_need_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    with pytest.raises(MissingLibraryError, match=r"pip install 'sframe_spark\[images\]'"):
        _ = png(1, 1).pixel_data
    # What a column does with bytes does not.
    assert list(SArray([png(1, 1)]).astype(str)) == ["Height: 1 Width: 1"]


class TestPillow:
    """What Pillow decodes."""

    @pytest.fixture(autouse=True)
    def pillow(self) -> Any:
        self.pillow = pytest.importorskip("PIL.Image")
        yield self.pillow

    @pytest.mark.parametrize("channels", [1, 3, 4])
    def test_pixels_are_those_of_the_file(self, channels: int, tmp_path: Path) -> None:
        image = raw(7, 5, channels)
        assert (Image(png_of_pixels(image.pixel_data)).pixel_data == image.pixel_data).all()
        assert (Image(image.to_pil()).pixel_data == image.pixel_data).all()
        image.save(tmp_path / "a.jpg")
        again = Image(tmp_path / "a.jpg")
        assert (again.height, again.width, again.channels, again.format) == (7, 5, min(channels, 3), "jpeg")
        assert again.pixel_data.shape == image.pixel_data.shape[:2] + ((3,) if channels > 1 else ())
        assert image_analysis.resize(SArray([again, image]), 4, 3).apply(lambda found: [found.height, found.width, found.channels])[0][2] == 3

    def test_modes_of_pillow_become_bytes(self, tmp_path: Path) -> None:
        gray = np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 6)
        deep = self.pillow.fromarray(gray.astype(np.uint16) * 257)
        deep.save(tmp_path / "deep.png")
        assert (Image(tmp_path / "deep.png").pixel_data == gray).all()
        self.pillow.fromarray(gray > 100).save(tmp_path / "bits.png")
        assert (Image(tmp_path / "bits.png").pixel_data == (gray > 100) * 255).all()
        self.pillow.fromarray(np.stack([gray] * 3, -1)).convert("P").save(tmp_path / "palette.png")
        assert Image(tmp_path / "palette.png").pixel_data.shape == (4, 6, 3)

    def test_damaged_pixels_and_bombs_are_errors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        image = png(9, 9, 3)
        start = image.data.index(b"IDAT") + 4
        damaged = Image(image.data[:start] + b"\0\0\0\0" + image.data[start + 4 :])
        with pytest.raises(ImageError, match="cannot be decoded"):
            _ = damaged.pixel_data
        with pytest.raises(ImageError):
            list(SArray([damaged]).astype(array.array))
        assert list(SArray([damaged, None]).astype(array.array, undefined_on_failure=True)) == [None, None]
        with pytest.raises(ImageError, match="has bytes of one of 9 x 9 x 3"):
            _ = Image.of_parts(image.data, "png", 3, 9, 3).pixel_data
        monkeypatch.setattr(self.pillow, "MAX_IMAGE_PIXELS", 80)
        with pytest.raises(ImageError, match=r"more than PIL\.Image\.MAX_IMAGE_PIXELS, 80"):
            _ = image.pixel_data
        monkeypatch.setattr(self.pillow, "MAX_IMAGE_PIXELS", None)
        assert image.pixel_data.shape == (9, 9, 3)


# What comes from other programs.


def test_structs_of_other_programs_are_images_if_they_are_sound(tmp_path: Path) -> None:
    image = raw(2, 3)
    wide = pa.struct(
        [("bytes", pa.large_binary()), ("format", pa.dictionary(pa.int8(), pa.string())), *((n, pa.int32()) for n in image_columns.SIZES)]
    )
    parts = {"bytes": image.data, "format": "raw", "height": 2, "width": 3, "channels": 1}
    table = pa.table({"i": pa.array([parts, None], wide)})
    pq.write_table(table, tmp_path / "other.parquet")
    for frame in (SFrame(table), SFrame.read_parquet(str(tmp_path / "other.parquet"))):
        assert frame.column_types() == [Image] and list(frame["i"]) == [image, None]
    for wrong, words in (
        ({"bytes": b"a"}, "1 bytes are no 2 x 3 pixels"),
        ({"bytes": None}, "its bytes is missing"),
        ({"height": None}, "its height is missing"),
        ({"width": -3, "height": -2}, "a size is negative"),
        ({"format": "tiff"}, "'tiff' is no format"),
        ({"height": 2**62, "width": 2**62, "channels": 2**62}, "6 bytes are no"),
    ):
        with pytest.raises(SchemaError, match=f"row 1 is no image: .*{re.escape(words)}"):
            SArray(pa.array([None, parts | wrong], IMAGE_PHYSICAL))
    # Another struct is a dict.
    assert SArray(pa.array([{"bytes": "a", "height": 1}])).dtype is dict


@pytest.mark.parametrize(
    "change",
    [{"$image": "!"}, {"$image": 5}, {"height": 7}, {"height": "2"}, {"format": "gif"}, {"width": -1}, {"channels": None}],
)
def test_damaged_texts_are_refused(change: dict[str, Any]) -> None:
    import json

    good = json.loads(encode_value(raw(2, 3)))
    assert decode_value(json.dumps(good)) == raw(2, 3)
    with pytest.raises(DamagedValueError):
        decode_value(json.dumps(good | change))


def test_damaged_columns_are_refused_when_they_are_read() -> None:
    stored = pa.array([{"bytes": b"a", "format": "raw", "height": 2, "width": 3, "channels": 1}], IMAGE_PHYSICAL)
    with pytest.raises(StorageError, match="a stored image is damaged: 1 bytes are no 2 x 3 pixels"):
        images(stored)


def test_more_bytes_than_an_array_holds_are_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_columns, "MAX_BYTES", 20)
    values = [raw(2, 3), None, raw(3, 4), raw(1, 9), raw(4, 5)]
    column = image_column(values)
    assert column.num_chunks == 3 and [image for chunk in column.chunks for image in images(chunk)] == values
    with pytest.raises(MemoryError, match="row 0: an image of"):
        image_column([raw(3, 7)])


# What is shown.


def test_notebooks_show_small_images_by_their_own_bytes() -> None:
    small, large = png(3, 4, 3), raw(600, 600)
    assert len(large.data) > MAX_PICTURE_BYTES
    text = SFrame(
        {"i": [small, large, None, Image(), Image(jpeg_header(2, 2, 3)), Image(jpeg_header(2, 3, 3) + bytes(MAX_PICTURE_BYTES))]}
    )._repr_html_()
    shown = re.findall(r'<img src="data:image/(\w+);base64,([\w+/=]+)"', text)
    assert [(kind, base64.b64decode(data)) for kind, data in shown] == [("png", small.data), ("jpeg", jpeg_header(2, 2, 3))]
    assert "Height: 600 Width: 600" in text and "Height: 2 Width: 3" in text and "Height: 0 Width: 0" in text
    assert small._repr_png_() == small.data and small._repr_jpeg_() is None
    assert Image(raw(2, 2)._repr_png_()).height == 2 and Image(jpeg_header(1, 1, 3))._repr_jpeg_() is not None


def test_values_are_printed_by_their_size() -> None:
    assert str(SArray([raw(2, 3), None])) == "['Height: 2 Width: 3', None]"
    assert "| Height: 2 Width: 3 |" in str(SFrame({"i": [raw(2, 3)]}))
    assert repr(raw(2, 3, 4)) == "Height: 2px\nWidth: 3px\nChannels: 4\n"


def test_files_of_text_have_the_sizes(tmp_path: Path) -> None:
    frame = SFrame({"i": [raw(2, 3), None], "l": [[raw(1, 1)], None]})
    frame.export_csv(str(tmp_path / "a.csv"))
    frame.export_json(str(tmp_path / "a.json"))
    assert (tmp_path / "a.csv").read_text() == 'i,l\n"Height: 2 Width: 3","[""Height: 1 Width: 1""]"\n,\n'
    assert SFrame.read_json(str(tmp_path / "a.json"))["i"][0] == "Height: 2 Width: 3"


def test_names_of_the_type() -> None:
    assert SArray([None], "image").dtype is SArray([None], Image).dtype is Image
    assert SArray([None], STR.python_class).dtype is str
