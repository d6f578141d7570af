"""Saving is whole or not at all, also over a dataset that is being read."""

from __future__ import annotations

import errno
import gc
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets import atomic_directory_save, dataset_copies, manifest_publication
from sframe_spark.storage.datasets.atomic_directory_save import staged
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import FEW_DATASETS, OPEN_DATASETS, OpenDatasets, load_manifest
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.filesystem.local_files import files_below
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryStore
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import FLOAT
from tests.interpreters import run_program
from tests.needs import needs
from tests.storage.foreign_manifests import foreign_manifest
from tests.storage.saved import save_dataset


def values(manifest: Manifest) -> list[int]:
    return read_rows(manifest, [0])["c0"].to_pylist()


def keys_ascend(manifest: Manifest) -> bool:
    keys = read_rows(manifest, [0], with_key=True)["_key"].to_pylist()
    return keys == sorted(set(keys))


@pytest.fixture
def target(tmp_path: Path) -> str:
    """A place to save to."""
    return str(tmp_path / "target")


def test_a_saved_dataset_holds_the_same_rows_names_and_facts(dataset: Any, target: str) -> None:
    source = dataset("d", [1, 2], [3])
    saved = save_dataset([source], target, names=["n"], kind="sarray")
    loaded = load_manifest(target, verify=True)
    assert loaded == saved and loaded.directory == target
    assert (loaded.names, loaded.kind, values(loaded)) == (("n",), "sarray", [1, 2, 3])
    assert [entry.columns for entry in loaded.segments] == [entry.columns for entry in source.segments]


def test_saving_replaces_what_was_saved_and_leaves_no_trace(dataset: Any, target: str, tmp_path: Any) -> None:
    save_dataset([dataset("a", [1], [2])], target)
    save_dataset([dataset("b", [3])], target)
    assert values(load_manifest(target)) == [3]
    assert len(files_below(target)) == 2
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_dataset_can_be_saved_over_itself(dataset: Any, target: str) -> None:
    first = save_dataset([dataset("a", [1], [2])], target)
    again = save_dataset([first], target)
    assert values(load_manifest(target, verify=True)) == [1, 2]
    assert keys_ascend(again)


def test_files_are_linked_not_copied(dataset: Any, tmp_path: Any) -> None:
    source = dataset("a", [1])
    saved = save_dataset([source], tmp_path / "target")
    assert os.path.samefile(os.path.join(source.directory, source.segments[0].file), os.path.join(saved.directory, saved.segments[0].file))


def test_without_links_files_are_copied(dataset: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: Any) -> None:
        raise OSError("not here")

    monkeypatch.setattr(atomic_directory_save.os, "link", no_links)
    save_dataset([dataset("a", [1, 2])], tmp_path / "target")
    assert values(load_manifest(tmp_path / "target", verify=True)) == [1, 2]


def test_temporary_data_can_go_after_it_was_saved(tmp_path: Any) -> None:
    handle = TemporaryStore(str(tmp_path / "temporary")).new_dataset()
    with SegmentWriter(handle.directory, 0, [FLOAT]) as writer:
        writer.write([pa.array([0.5])])
        entry = writer.close()
    save_dataset([Manifest((FLOAT,), (entry,), handle.directory)], tmp_path / "target")
    del handle
    assert values(load_manifest(tmp_path / "target")) == [0.5]


def test_foreign_files_get_keys(tmp_path: Any, target: str) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x y": pa.array([1, 2], pa.int8())}), tmp_path / "f.parquet")
    saved = save_dataset([foreign_manifest([tmp_path / "f.parquet"])], target, names=["x y"])
    assert saved.has_key and saved.column_names_in_files is None
    assert values(load_manifest(target, verify=True)) == [1, 2]


def test_nothing_but_a_saved_frame_is_replaced(dataset: Any, tmp_path: Any) -> None:
    source = dataset("a", [1])
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(StorageError, match="is a file"):
        save_dataset([source], file)
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious.txt").write_text("precious")
    with pytest.raises(StorageError, match="is not a saved frame"):
        save_dataset([source], other)
    save_dataset([source], tmp_path / "saved")
    (tmp_path / "saved" / "precious.txt").write_text("precious")
    with pytest.raises(StorageError, match=r"holds precious\.txt"):
        save_dataset([source], tmp_path / "saved")
    assert sorted(os.listdir(tmp_path)) == ["a", "file", "other", "saved"]


def test_an_empty_directory_is_filled_and_missing_parents_made(dataset: Any, tmp_path: Any) -> None:
    (tmp_path / "empty").mkdir()
    assert values(save_dataset([dataset("a", [1])], tmp_path / "empty")) == [1]
    assert values(save_dataset([dataset("a", [1])], tmp_path / "new" / "deep")) == [1]


@pytest.mark.parametrize("step", ["with_checksums", "write_manifest"])
def test_a_failed_save_leaves_the_old_data_and_no_trace(dataset: Any, target: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    save_dataset([dataset("a", [1])], target)
    source = dataset("b", [2], [3])

    def content() -> list[str]:
        return files_below(target)

    before = content()

    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(manifest_publication, step, fail)
    with pytest.raises(KeyboardInterrupt):
        save_dataset([source], target)
    assert content() == before
    assert values(load_manifest(target)) == [1]
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_damage_is_not_copied(dataset: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = save_dataset([dataset("a", range(1000))], tmp_path / "saved")
    file = tmp_path / "saved" / saved.segments[0].file
    content = bytearray(file.read_bytes())
    content[50] ^= 1
    os.remove(file)
    file.write_bytes(content)
    monkeypatch.setattr(dataset_copies, "_is_duplicated", lambda *_: False)
    with pytest.raises(StorageError, match="is damaged"):
        save_dataset([saved], tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@needs("pyarrow>=18")
def test_a_missing_source_is_told(dataset: Any, tmp_path: Any) -> None:
    source = dataset("a", [1])
    os.remove(os.path.join(source.directory, source.segments[0].file))
    with pytest.raises(StorageError, match=r"segment-.* is missing: "):
        save_dataset([source], tmp_path / "copy")


def test_without_exchange_the_manifest_is_the_switch(dataset: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_directory_save, "_exchange", lambda *_: errno.EINVAL)
    target = str(tmp_path / "target")
    save_dataset([dataset("a", [1], [7])], target)
    opened = OPEN_DATASETS.open(target, lambda: load_manifest(target))
    save_dataset([dataset("b", [2])], target)
    assert values(load_manifest(target)) == [2]
    assert len(os.listdir(target)) == 2
    assert values(opened) == [1, 7]
    del opened
    gc.collect()
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "target"]


@pytest.mark.parametrize("exchange", [True, False])
def test_the_disk_may_fail_at_the_swap(dataset: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, exchange: bool) -> None:
    save_dataset([dataset("a", [1])], tmp_path / "target")
    monkeypatch.setattr(atomic_directory_save, "_exchange", lambda *_: errno.EIO if exchange else errno.ENOSYS)
    monkeypatch.setattr(atomic_directory_save, "flush_directory", fail_with_lost_power)
    with pytest.raises(StorageError, match=r"lost power|Input/output error"):
        save_dataset([dataset("b", [2])], tmp_path / "target")
    assert values(load_manifest(tmp_path / "target")) == [1]
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "target"]


def fail_with_lost_power(*_: Any) -> None:
    raise OSError("lost power")


def test_what_a_link_leads_to_is_replaced(dataset: Any, tmp_path: Any) -> None:
    save_dataset([dataset("a", [1])], tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    save_dataset([dataset("b", [2])], tmp_path / "link")
    assert values(load_manifest(tmp_path / "real")) == values(load_manifest(tmp_path / "link")) == [2]
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "link", "real"]


def test_old_rows_stay_for_who_opened_them_by_another_path(dataset: Any, tmp_path: Any) -> None:
    save_dataset([dataset("a", [1])], tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path)
    path = str(tmp_path / "link" / "real")
    opened = OPEN_DATASETS.open(path, lambda: load_manifest(path))
    save_dataset([dataset("b", [2])], tmp_path / "real")
    assert values(opened) == [1]


def test_a_dataset_replaced_while_it_is_opened_is_opened_again(dataset: Any, tmp_path: Any) -> None:
    target = str(tmp_path / "target")
    save_dataset([dataset("a", [1])], target)
    later = [dataset("b", [2]), dataset("c", [3])]

    def load() -> Manifest:
        manifest = load_manifest(target)
        if later:
            save_dataset([later.pop(0)], target)
        return manifest

    opened = OPEN_DATASETS.open(target, load)
    save_dataset([dataset("d", [4])], target)
    assert values(opened) == [3]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_save_killed_in_the_middle_keeps_the_old_data_and_is_cleaned_up_by_the_next(dataset: Any, tmp_path: Any) -> None:
    save_dataset([dataset("a", [1])], tmp_path / "target")
    dataset("b", [2])
    code = f"""
import os, signal
from sframe_spark.storage.datasets import manifest_publication as commit
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from tests.storage.saved import save_dataset
commit.write_manifest = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
save_dataset([load_manifest({str(tmp_path / "b")!r})], {str(tmp_path / "target")!r})
"""
    assert run_program(code).returncode == -signal.SIGKILL
    assert len([name for name in os.listdir(tmp_path) if name.startswith(".")]) == 1
    assert values(load_manifest(tmp_path / "target")) == [1]
    save_dataset([load_manifest(tmp_path / "b")], tmp_path / "target")
    assert values(load_manifest(tmp_path / "target")) == [2]
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_what_the_caller_writes_is_swapped_in(dataset: Any, tmp_path: Any) -> None:
    save_dataset([dataset("a", [1])], tmp_path / "target")
    with staged(str(tmp_path / "target")) as staging, SegmentWriter(staging, 0, [FLOAT]) as writer:
        writer.write([pa.array([0.5])])
        manifest_publication.write_manifest(Manifest((FLOAT,), (writer.close(),), staging), durable=False)
    assert sorted(os.listdir(tmp_path / "target"))[0] == MANIFEST_FILE
    assert values(load_manifest(tmp_path / "target")) == [0.5]


def test_datasets_that_nobody_refers_to_are_forgotten(tmp_path: Path) -> None:
    datasets = OpenDatasets()
    kept = [datasets.open(str(place), lambda place=place: Manifest((), (), str(place))) for place in made(tmp_path, "kept", 10)]
    for place in made(tmp_path, "dropped", 500):
        datasets.open(str(place), lambda place=place: Manifest((), (), str(place)))
    assert len(datasets._references) <= 2 * FEW_DATASETS
    assert [datasets.manifests(manifest.directory) for manifest in kept] == [[manifest] for manifest in kept]
    many = [datasets.open(str(place), lambda place=place: Manifest((), (), str(place))) for place in made(tmp_path, "many", 300)]
    assert [datasets.manifests(manifest.directory) for manifest in many] == [[manifest] for manifest in many]


def made(parent: Path, name: str, number: int) -> list[Path]:
    """Directories."""
    places = [parent / f"{name}-{place}" for place in range(number)]
    for place in places:
        place.mkdir()
    return places
