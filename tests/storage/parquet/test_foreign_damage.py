"""A damaged Parquet file of somebody else carries no check sums of ours: it gives an error of ours or values, and never ends the process."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from sframe_spark import SFrame
from sframe_spark.errors import StorageError
from tests.interpreters import run_program

ROOT = Path(__file__).parents[3]


def outcomes(first: int, **counts: int) -> dict[str, dict[str, int]]:
    """What came of so many changed bytes of each kind; raises AssertionError if the process ended or raised anything but errors of ours."""
    asked = [text for kind, count in counts.items() for text in (kind, str(first), str(count))]
    answer = run_program("", *asked, module="tests.storage.parquet.foreign_flips", directory=ROOT, timeout=1800)
    assert answer.returncode == 0, answer.stderr[-500:]
    found: dict[str, Any] = json.loads(answer.stdout)
    assert [failure for told in found.values() for failure in told["failures"]] == []
    assert {kind: sum(told["outcomes"].values()) for kind, told in found.items()} == counts
    return {kind: told["outcomes"] for kind, told in found.items()}


def test_a_changed_byte_never_ends_the_process() -> None:
    counts = {"footer": 50, "any": 20}
    for kind, found in outcomes(0, **counts).items():
        assert found["StorageError"] > counts[kind] // 4 and found["right"] > counts[kind] // 10, kind


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["footer", "any"])
def test_thousands_of_changed_bytes_never_end_the_process(kind: str) -> None:
    outcomes(1000, **{kind: 5000})


@pytest.mark.parametrize("columns", [["secret"], ["secret", "open"]])
def test_files_with_encrypted_columns_are_not_called_damaged(columns: list[str], tmp_path: Path) -> None:
    class Keys(encryption.KmsClient):
        """Wraps keys without a secret."""

        def wrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64decode(key)

    settings = encryption.EncryptionConfiguration(footer_key="footer", column_keys={"column": columns}, plaintext_footer=True)
    factory = encryption.CryptoFactory(lambda _: Keys())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    table = pa.table({"secret": [1, 2], "open": ["x", "y"]})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(StorageError, match="encrypted columns; decrypt it first"):
        SFrame(str(tmp_path / "a.parquet"))
