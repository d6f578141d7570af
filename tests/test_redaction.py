"""Addresses as they are shown: whatever lets somebody in is taken out, in all forms in which addresses are written, and little else."""

from __future__ import annotations

import time

import pytest

from sframe_spark.errors import ColumnNotFoundError, InexactWarning, SFrameError, StorageError
from sframe_spark.redaction import hide_in_error, redacted, secrets_in, secrets_of, without_secrets
from tests.examples import by_turns

SHOWN = {
    "s3://KEY:SECRET@bucket/a/b.csv": "s3://bucket/a/b.csv",
    "S3A://KEY:SECRET@bucket/a": "S3A://bucket/a",
    "s3:/KEY:SECRET@bucket/a": "s3:/bucket/a",
    "https://SECRET@host/a": "https://host/a",
    "https://me:SE%40CRET@[2001:db8::1]:8443/a": "https://[2001:db8::1]:8443/a",
    "https://me:SE@CRET@host/a": "https://host/a",
    "https://me:SE/CRET@host/a": "https://***",
    "https://me:SE?CRET@host/a": "https://***",
    "https://me:SE@C/RET@host/a": "https://***",
    "https://host/a.csv?X-Amz-Credential=SECRET&X-Amz-Signature=SECRET#SECRET": "https://host/a.csv",
    "abfss://box@account.dfs.core.windows.net/a?sig=SECRET": "abfss://box@account.dfs.core.windows.net/a",
    "abfss://box:SECRET@account/a": "abfss://account/a",
    "simplecache::s3://KEY:SECRET@bucket/a": "simplecache::s3://bucket/a",
    "zip://a.csv::https://me:SECRET@host/a.zip?sig=SECRET": "zip://a.csv::https://host/a.zip",
    "file://me:SECRET@host/a": "file://host/a",
    "jdbc:postgresql://me:SECRET@host/db?password=SECRET": "jdbc:postgresql://host/db",
    "jdbc:sqlserver://host;user=me;password={SEC;RET};a=b": "jdbc:sqlserver://host;user=me;password=***;a=b",
    "jdbc:oracle:thin:scott/SECRET@//host:1521/x": "jdbc:oracle:thin:***@//host:1521/x",
    "clickhouse+http:://me:SECRET@host:8123/default": "clickhouse+http:://host:8123/default",
    "postgresql+psycopg://me:SECRET@host/db": "postgresql+psycopg://host/db",
    "AccountName=a;AccountKey=SECRET;EndpointSuffix=b": "AccountName=a;AccountKey=***;EndpointSuffix=b",
    "http://host/a%3FAWSAccessKeyId%3DSECRET%26Signature%3DSECRET%26c%3Dd": "http://host/a%3FAWSAccessKeyId%3D***%26Signature%3D***%26c%3Dd",
}
AS_THEY_ARE = [
    "/data/token=5/a@b.csv", "s3://bucket/a@b.csv", "http://host:8080/a@b.csv", "memory:///a", "abfss://box@account/a", "file:///data/12:30@noon",
    "C:/data/a.csv", "at 12:30 me@host wrote a=b", "column 'token' of {'a': 1}", "sort(key_column_names=['a'])",
    "there is no file /a/b.csv: check the path",
]  # fmt: skip


@pytest.mark.parametrize("address", SHOWN)
def test_what_is_shown_of_an_address(address: str) -> None:
    assert redacted(address) == SHOWN[address]
    assert without_secrets(address) == SHOWN[address]
    assert redacted(SHOWN[address]) == SHOWN[address], "what was redacted stays as it is"
    assert redacted(f"cannot read '{address}': gone") == f"cannot read '{SHOWN[address]}': gone"


def test_schemes_are_schemes_in_any_case() -> None:
    text = "cannot read JDBC:Oracle:thin:scott/SECRET@//host:1521/x, nor S3A://KEY:SECRET@bucket/a"
    assert redacted(text) == "cannot read JDBC:Oracle:thin:***@//host:1521/x, nor S3A://bucket/a"


@pytest.mark.parametrize("text", AS_THEY_ARE)
def test_what_has_no_secret_is_shown_as_it_is(text: str) -> None:
    assert redacted(text) == text
    assert not secrets_of(text)


@pytest.mark.parametrize("address", [*SHOWN, "//me:SECRET@host/a", "me:SECRET@host:/a", "https://me:SEC RET'x@host/a"])
def test_libraries_that_quote_any_part_of_an_address_are_silenced(address: str) -> None:
    secrets = secrets_in([address], ())
    for part in ("nonnumeric port: 'SECRET'", f"Invalid bucket name {address!r}", "host SEcret"):
        if "SECRET" in address:
            error = StorageError("x")
            error.__cause__ = ValueError(part, [address], {"url": address.encode()})
            hide_in_error(error, secrets)
            shown = f"{error.__cause__} {error.__cause__!r}".lower()
            assert "secret" not in shown.replace("nonnumeric port", "") and "sec ret" not in shown


class Stubborn(Exception):
    def __str__(self) -> str:
        return "https://me:SECRET@host/a"


def test_what_cannot_be_changed_is_left_out_of_the_chain() -> None:
    error, below = StorageError("x"), ValueError("y")
    error.__cause__ = Stubborn()
    error.__context__ = below
    below.__context__ = error  # a loop, as others make them
    hide_in_error(error)
    assert error.__cause__ is None and error.__context__ is below


def test_errors_and_warnings_of_ours_show_no_secret_in_any_form() -> None:
    text = "cannot read https://me:SECRET@host/a.csv?sig=SECRET"
    for error in (SFrameError(text), StorageError(text), InexactWarning(text)):
        assert "SECRET" not in str(error)
    assert "SECRET" not in repr(StorageError(text)) + repr(StorageError(text).args)
    assert ColumnNotFoundError("a", ["b"]).args == ("a", ("b",))


def test_long_texts_take_time_in_proportion_to_their_length() -> None:
    for part in ("a:", "token", "a@", "password=", ":/", "x", "b/", "jdbc:x:", "https://a:b@", "a=b&", "a::", "//a:b@", "?", " :/"):
        text = part * (100_000 // len(part)) + "@"
        begun = time.process_time()
        redacted(text)
        secrets_of(text)
        without_secrets(text)
        assert time.process_time() - begun < 2, part


@pytest.mark.parametrize("start", ["see https://host", "see https://me:", "jdbc:x:", "password="])
def test_long_addresses_take_time_in_proportion_to_their_length(start: str) -> None:
    for part in by_turns((".", ",)", "]}", ":", "@", "a@", "?", "#a", "&", "a=b&", "::", "%26", "'", "/"), 3, len(start)):
        text = start + part * (100_000 // len(part)) + "x@"
        begun = time.process_time()
        redacted(text)
        secrets_of(text)
        without_secrets(text)
        assert time.process_time() - begun < 2, part


def test_much_text_without_an_address_is_looked_through_quickly() -> None:
    text = "abc def=xyz? " * 600_000
    begun = time.process_time()
    hide_in_error(ValueError(text), secrets_in([text]))
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "name", ["pass", "PWD", "my_secret", "TOKEN", "sig", "x-signature", "credentials", "account_key", "api-key", "\u017fecret", "to\u212aen", "sas"]
)
def test_all_names_of_secrets_are_looked_for(name: str) -> None:
    assert redacted(f"{name}=SECRET;") == f"{name}=***;" and secrets_of(f"a; {name}=SECRET;") == {"SECRET"}
