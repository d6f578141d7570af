"""Users who may do a few things only: what they may do works, all else is one line that says what to do, and nobody's objects are lost."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import boto3
import pytest
from moto.core import responses

from sframe_spark import SArray, SFrame, config, history, load_sframe
from sframe_spark.cli import clean
from sframe_spark.cli.clean import run_clean
from sframe_spark.errors import StorageError
from sframe_spark.process.temporary_file_leases import HIDDEN, new_name
from sframe_spark.storage import export_directories
from sframe_spark.storage.datasets import numbered_versions_of_remote_frames as remote_versions
from sframe_spark.storage.export_directories import staged_remotely
from sframe_spark.storage.filesystem import temporary_datasets
from sframe_spark.storage.filesystem.remote_operations import put_bytes
from tests.examples import part
from tests.storage.datasets.conftest import KEY, SECRET, Bucket
from tests.storage.datasets.test_remote_errors import DOORS

READ, LIST, WRITE, REMOVE, SEE = "s3:GetObject", "s3:ListBucket", "s3:PutObject", "s3:DeleteObject", "s3:HeadBucket"
# As elsewhere, one who may list what is below a prefix may not ask for the bucket itself.
USERS = {
    "reads": (READ, LIST, SEE),
    "reads what is named": (READ,),
    "reads below a prefix": (READ, LIST),
    "writes": (WRITE,),
    "writes and lists": (WRITE, LIST),
    "lists": (LIST, SEE),
    "removes nothing": (READ, LIST, WRITE),
    "sees no bucket": (READ, LIST, WRITE, REMOVE),
    "nobody": ("s3:ListAllMyBuckets",),
}
ON_SAVED = ("save", "save a column", "load", "load a column", "history", "vacuum", "verify")
As = Callable[..., contextlib.AbstractContextManager[None]]


@pytest.fixture(scope="module")
def key_of(server: str) -> Callable[[tuple[str, ...]], dict[str, str]]:
    """Gives the key of one who may do only some things: each is made once, and so is a client of theirs."""
    users = boto3.client("iam", endpoint_url=server, region_name="us-east-1", aws_access_key_id=KEY, aws_secret_access_key=SECRET)

    @lru_cache(None)
    def key(actions: tuple[str, ...]) -> dict[str, str]:
        name = uuid.uuid4().hex
        users.create_user(UserName=name)
        allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}
        users.put_user_policy(UserName=name, PolicyName="few", PolicyDocument=json.dumps(allowed))
        made = users.create_access_key(UserName=name)["AccessKey"]
        return {"key": made["AccessKeyId"], "secret": made["SecretAccessKey"]}

    return key


@pytest.fixture
def as_user(bucket: Bucket, key_of: Callable[[tuple[str, ...]], dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[As]:
    """Lets a block run as one who may do only some things."""
    monkeypatch.setattr(remote_versions, "_proved", remote_versions._proved.__wrapped__)

    @contextlib.contextmanager
    def acting(*actions: str) -> Iterator[None]:
        options = {**bucket.options, **key_of(actions), "config_kwargs": {"retries": {"max_attempts": 0}}}
        with monkeypatch.context() as patch, config.using(storage_options={"s3://": options}):
            patch.setattr(responses.settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0)
            yield

    yield acting


def contents(bucket: Bucket) -> dict[str, Any]:
    return {name: found["ETag"] for name, found in bucket.files.find(bucket.uri.removeprefix("s3://"), detail=True).items()}


def answer_of(door: str, place: str) -> str:
    """What a door says where it does not work."""
    try:
        DOORS[door](place)
    except StorageError as error:
        return str(error)
    except AssertionError:
        # These commands show what went wrong, and did not.
        assert door in ("verify", "clean"), door
    return ""


# Some doors for some users, and each for some; the campaign takes the others.
@pytest.mark.sampled(4)
@pytest.mark.parametrize("turn", part(range(6), 6))
@pytest.mark.parametrize("who", USERS)
def test_every_door_works_or_says_what_to_do(bucket: Bucket, as_user: As, who: str, turn: int) -> None:
    first = (turn + list(USERS).index(who)) % 6
    places = {door: f"{bucket.uri}/{number}" for number, door in list(enumerate(DOORS))[first::6]}
    for door, place in places.items():
        if door in ON_SAVED:
            (SArray([1]) if "column" in door else SFrame({"a": [1]})).save(place)
        elif door.startswith("read "):
            SFrame({"a": [1]}).export_csv(place + ".csv")
            SFrame({"a": [1]}).export_json(place)
    before = contents(bucket)
    with as_user(*USERS[who]):
        answers = {door: answer_of(door, place) for door, place in places.items()}
    for door, told in answers.items():
        assert "\n" not in told and SECRET not in told, (door, told)
        assert "there is no s3://" not in told, (door, told)
        # A file that may be listed and not read is told as one that is not there.
        missing = f"there is no file {places[door]}" in told
        assert not told or "permission denied" in told or missing or READ in USERS[who], (door, told)
    after = contents(bucket)
    assert before.keys() <= after.keys()
    assert before == {name: after[name] for name in before}


def test_who_sees_a_prefix_alone_writes_there(bucket: Bucket, as_user: As) -> None:
    with as_user(READ, LIST, WRITE, REMOVE):
        SFrame({"a": [1, 2]}).export_csv(bucket.uri + "/own/a.csv")
        SFrame({"a": [1, 2]}).write_parquet(bucket.uri + "/own/a")
        SFrame({"a": [1, 2]}).save(bucket.uri + "/own/frame")
        assert list(SFrame.read_csv(bucket.uri + "/own/a.csv", verbose=False)["a"]) == list(load_sframe(bucket.uri + "/own/frame")["a"]) == [1, 2]
        with pytest.raises(StorageError, match="there is no saved frame"):
            load_sframe(bucket.uri + "/own/nothing")
    with pytest.raises(StorageError, match=r"there is no s3://nothing-of-that-name: create it"):
        SFrame({"a": [1]}).export_csv("s3://nothing-of-that-name/a.csv")


def test_who_may_remove_nothing_saves(bucket: Bucket, as_user: As) -> None:
    place = bucket.uri + "/frame"
    with as_user(READ, LIST, WRITE, SEE):
        for rows in ([1], [1, 2]):
            SFrame({"a": rows}).save(place)
        assert list(load_sframe(place)["a"]) == [1, 2] and list(load_sframe(place, version=1)["a"]) == [1]
        assert len(history(place)) == 2


def test_parts_that_may_not_be_removed_hide_no_error_and_fail_no_export(bucket: Bucket, as_user: As) -> None:
    def use(used: export_directories.Staging) -> None:
        used.is_used = True
        put_bytes(used.remote + "/.part-0", b"rows")

    with as_user(READ, LIST, WRITE, SEE), staged_remotely(bucket.uri + "/a.csv") as used:
        use(used)
    with pytest.raises(ZeroDivisionError), as_user(READ, LIST, WRITE, SEE), staged_remotely(bucket.uri + "/a.csv") as used:
        use(used)
        _ = 1 // 0
    assert all(name.startswith(HIDDEN) for name in bucket.names()) and len(bucket.names()) == 2


def test_temporary_data_that_cannot_be_kept_leaves_nothing(bucket: Bucket, as_user: As) -> None:
    with as_user(WRITE, REMOVE), pytest.raises(StorageError, match="cannot list"):
        temporary_datasets.RemoteStore(bucket.uri + "/tmp")
    assert bucket.names() == []


@pytest.mark.parametrize("may_remove", [False, True])
def test_clean_tells_what_stays(bucket: Bucket, as_user: As, may_remove: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    left = f"tmp/{new_name()}/owner"
    bucket.files.pipe_file(f"{bucket.uri}/{left}", b"")
    monkeypatch.setattr(temporary_datasets, "is_running", lambda owner: False)
    # Processes of others that were killed may have left something on this machine.
    monkeypatch.setattr(clean, "directories", lambda paths: [])
    lines: list[str] = []
    with as_user(READ, LIST, SEE, *([REMOVE] if may_remove else [])):
        failed = run_clean([bucket.uri + "/tmp"], False, lines.append)
    told = next(line for line in lines if bucket.uri in line)
    assert (failed, bucket.names()) == ((0, []) if may_remove else (1, [left]))
    assert told.startswith("removed ") if may_remove else "cannot remove" in told and "permission denied" in told
    assert lines[-1].startswith(f"{int(may_remove)} left")
