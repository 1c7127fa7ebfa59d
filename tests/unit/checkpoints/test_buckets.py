"""What only object storage has: half deletions, broken connections, refusals, credentials, endpoints."""

import io
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuyard.checkpoints.inventory import latest, plan_pruning, verify
from gpuyard.checkpoints.objects import BrokenError, ObjectStore
from gpuyard.checkpoints.places import open_store
from gpuyard.checkpoints.store import StoreError
from gpuyard.spec.problems import SpecError

from .places import DAY, Objects, Place, opened, put_complete


class Killed(BaseException):
    """Stands for the end of the process."""


def test_a_deletion_killed_after_any_object_leaves_nothing_that_looks_whole(
    bucket: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "1000")
    if isinstance(bucket, Objects):
        bucket.server.page = 1000
    for allowed in range(100):
        for path in bucket.paths():
            bucket.drop(path)
        for step in (1, 2, 3):
            put_complete(bucket, step, age=DAY, point=step == 3, **{"a.pt": b"weights"})
        bucket.put("step-00000001/", b"", age=DAY)
        store = opened(bucket)
        assert isinstance(store, ObjectStore)
        real, done = store._delete, [0]

        def delete(keys: Sequence[str]) -> None:
            for key in keys:
                if done[0] == allowed:  # noqa: B023
                    raise Killed
                real([key])  # noqa: B023
                done[0] += 1  # noqa: B023

        monkeypatch.setattr(store, "_delete", delete)
        plan = plan_pruning(store, 1, 0, 0.0, 0.0, time.time())
        assert [one.name for one in plan.removals] == ["step-00000001", "step-00000002"]
        try:
            for one in plan.removals:
                store.remove(one.name)
        except Killed:
            killed = True
        else:
            killed = False
        after = opened(bucket)
        whole = {path.split("/")[0] for path in bucket.paths() if path.endswith("/manifest.json")}
        found = verify(after, deep=True)
        assert all(found[name] == [] for name in whole)
        assert "step-00000003" in whole
        answer = latest(after)
        assert (answer.checkpoint is not None, answer.notes) == (True, ())
        again = plan_pruning(after, 1, 0, 0.0, 0.0, time.time())
        for one in again.removals:
            after.remove(one.name)
        assert {path.split("/")[0] for path in bucket.paths()} == {"step-00000003", "latest"}
        if not killed:
            break
    assert allowed == 5


def test_an_object_that_is_not_deleted_is_told(bucket: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    name = put_complete(bucket, 1)
    store: Any = opened(bucket)
    if isinstance(bucket, Objects):
        bucket.server.stuck.add("run 1/ü/step-00000001/rank0.pt")
    else:
        monkeypatch.setattr(
            store._client,
            "delete_objects",
            lambda **_: {"Errors": [{"Key": "run 1/ü/step-00000001/rank0.pt", "Message": "stuck"}]},
        )
    with pytest.raises(StoreError, match="1 not deleted, such as run 1/ü/step-00000001/rank0.pt"):
        store.remove(name)


@pytest.fixture(params=["oss", "cos"])
def objects(request: pytest.FixtureRequest) -> Objects:
    return request.getfixturevalue(request.param)


def test_every_request_is_signed_and_wrong_keys_are_told(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    put_complete(objects, 1, point=True)
    assert latest(opened(objects)).checkpoint is not None
    monkeypatch.setenv("OSS_ACCESS_KEY_SECRET", "wrong")
    monkeypatch.setenv("TENCENTCLOUD_SECRET_KEY", "wrong")
    with pytest.raises(StoreError, match="SignatureDoesNotMatch: said the test"):
        latest(opened(objects))


def test_a_connection_that_breaks_is_taken_up_where_it_broke(objects: Objects) -> None:
    data = bytes(range(256)) * 50_000
    name = put_complete(objects, 1, **{"rank0.pt": data})
    store = opened(objects)
    objects.server.breaks = 2
    assert b"".join(store.chunks(f"{name}/rank0.pt")) == data
    assert objects.server.breaks == 0
    objects.server.breaks = 1
    assert latest(store).checkpoint is not None
    assert objects.server.breaks == 0


def test_a_connection_that_always_breaks_is_told(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    name = put_complete(objects, 1)
    store: Any = opened(objects)
    asked: list[int] = []

    def broken(key: str, start: int) -> Any:
        asked.append(start)
        if start == 0:
            yield b"12"
        raise BrokenError("the line is dead")

    real = store._open
    monkeypatch.setattr(
        store, "_open", lambda key, start: broken(key, start) if key.endswith("0.pt") else real(key, start)
    )
    assert verify(store, name, deep=True)[name] == [
        "opt/rank 0.pt cannot be read: the line is dead",
        "rank0.pt cannot be read: the line is dead",
    ]
    assert sorted(asked) == [0, 0, *([2] * 6)]


def test_a_range_is_asked_for_after_a_break(objects: Objects) -> None:
    objects.put("x", b"0123456789")
    store: Any = opened(objects)
    assert b"".join(store._open("run 1/ü/x", 4)) == b"456789"


def test_a_refusal_is_told_in_its_own_words_and_never_as_nothing_there(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_complete(objects, 1)
    for status, code in ((403, "AccessDenied"), (404, "NoSuchBucket")):
        objects.server.refusals = [(status, code)]
        with pytest.raises(StoreError, match=f"{code}: said the test"):
            latest(opened(objects))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    store = opened(objects)
    objects.server.refusals = [(503, "SlowDown")]
    assert latest(store).checkpoint is not None


def test_a_bucket_that_is_not_there_is_told(objects: Objects, moto_s3: Any) -> None:
    where = objects.where.replace("ck-", "cx-")
    with pytest.raises(StoreError, match="NoSuchBucket"):
        latest(open_store(where, **objects.options))
    with pytest.raises(StoreError, match=r"s3://nobody-has-this/x: NoSuchBucket: "):
        latest(open_store("s3://nobody-has-this/x"))


def test_a_service_that_cannot_be_reached_is_told(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    options = {**objects.options, "endpoint": "http://cos.test:1"}
    with pytest.raises(StoreError, match=f"{objects.where}: .*Connection refused"):
        latest(open_store(objects.where, **options))


def test_temporary_credentials_bring_their_token(
    oss: Objects, cos: Objects, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The role of an instance; COS's own SDK would leave out the token of credentials that renew themselves."""
    from alibabacloud_credentials.utils import auth_util
    from tencentcloud.common import credential

    put_complete(oss, 1)
    put_complete(cos, 1)
    oss.server.token = cos.server.token = "a-token"
    monkeypatch.setenv("OSS_SESSION_TOKEN", "a-token")
    assert latest(opened(oss)).checkpoint is not None
    for name in ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(auth_util, "environment_access_key_id", "id-of-a-test")
    monkeypatch.setattr(auth_util, "environment_access_key_secret", "secret-of-a-test")
    monkeypatch.setattr(auth_util, "environment_security_token", "a-token")
    assert latest(opened(oss)).checkpoint is not None

    asked: list[str] = []
    role = {"Code": "Success", "TmpSecretId": "id-of-a-test", "TmpSecretKey": "secret-of-a-test", "Token": "a-token"}

    def urlopen(address: str) -> Any:
        asked.append(address)
        text = "gpuyard-node" if address.endswith("/") else json.dumps({**role, "ExpiredTime": time.time() + 10})
        return io.BytesIO(text.encode())

    monkeypatch.setattr(credential, "urlopen", urlopen)
    monkeypatch.delenv("TENCENTCLOUD_SECRET_ID")
    store = opened(cos)
    assert latest(store).checkpoint is not None
    # What the first answer gave has run out.
    role["Token"] = cos.server.token = "the-next"
    assert latest(store).checkpoint is not None
    assert asked[-1] == "http://metadata.tencentyun.com/latest/meta-data/cam/security-credentials/gpuyard-node"


def test_without_credentials_it_says_where_it_looked(
    oss: Objects, cos: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3
    from alibabacloud_credentials.utils import auth_util
    from tencentcloud.common import credential

    def nobody(*_: Any, **__: Any) -> Any:
        raise OSError("no metadata service here")

    for name in ("OSS_ACCESS_KEY_ID", "TENCENTCLOUD_SECRET_ID", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(auth_util, "environment_ecs_metadata_disabled", "true")
    monkeypatch.setattr(credential, "urlopen", nobody)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with pytest.raises(StoreError, match=r"oss://.*: no Alibaba Cloud credentials. Looked for: OSS_ACCESS_KEY_ID and "):
        latest(opened(oss))
    with pytest.raises(StoreError, match=r"cos://.*: no Tencent Cloud credentials. Looked for: TENCENTCLOUD_SECRET_ID"):
        latest(opened(cos))
    with pytest.raises(StoreError, match=r"s3://some-bucket: no AWS credentials. Looked for: AWS_ACCESS_KEY_ID and "):
        latest(open_store("s3://some-bucket", endpoint="http://127.0.0.1:1", region="us-east-1"))


@pytest.mark.parametrize(
    ("where", "module", "extra"),
    [
        ("s3://some-bucket/x", "boto3", "s3"),
        ("oss://some-bucket/x", "alibabacloud_oss_v2", "oss"),
        ("cos://some-1250000000/x", "qcloud_cos", "cos"),
    ],
)
def test_a_library_that_is_not_installed_is_named(
    where: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(StoreError, match=rf"{module} is not installed. Install it: pip install 'gpuyard\[{extra}\]'"):
        open_store(where, region="r")


def test_a_node_uses_its_own_region_and_the_internal_endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def host(where: str, region: str | None = None) -> str:
        store: Any = open_store(where, region=region)
        if where.startswith("oss"):
            return store._client._client._options.endpoint.netloc
        return store._config._endpoint if where.startswith("cos") else store._client.meta.endpoint_url

    with pytest.raises(
        SpecError, match=r"--region: the region of bucket ck-bucket is not known, .* --region cn-hangzhou"
    ):
        open_store("oss://ck-bucket/x")
    with pytest.raises(SpecError, match="Give it, such as --region ap-guangzhou"):
        open_store("cos://ck-1250000000/x")
    assert host("oss://ck-bucket/x", "cn-beijing") == "oss-cn-beijing.aliyuncs.com"
    (tmp_path / "node.env").write_text("GPUYARD_CLOUD='alicloud'\nGPUYARD_REGION='cn-beijing'\n")
    monkeypatch.setenv("GPUYARD_ENV", str(tmp_path / "node.env"))
    assert host("oss://ck-bucket/x") == "oss-cn-beijing-internal.aliyuncs.com"
    assert host("oss://ck-bucket/x", "cn-hangzhou") == "oss-cn-hangzhou.aliyuncs.com"
    with pytest.raises(SpecError, match="is not known"):
        open_store("cos://ck-1250000000/x")
    (tmp_path / "node.env").write_text("GPUYARD_CLOUD=tencentcloud\nGPUYARD_REGION=ap-nanjing\n")
    assert host("cos://ck-1250000000/x") == "cos.ap-nanjing.myqcloud.com"
    (tmp_path / "node.env").write_text("GPUYARD_CLOUD=aws\nGPUYARD_REGION=eu-west-1\n")
    assert host("s3://ck-bucket/x") == "https://s3.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("gs://bucket/x", "'gs://' is no object storage that is known. Use s3://, oss://, cos:// or a folder."),
        ("ss://bucket/x", "'ss://' is no object storage that is known. Did you mean 'oss'?"),
        ("s3://key:secret@bucket/x", "a 's3://' address holds no credentials. Leave them to the environment"),
        ("s3:///x", "'s3:///x' names no bucket. Write s3://bucket/prefix."),
        ("s3://Bucket_/x", "'s3://Bucket_/x' names no bucket."),
        ("s3://bucket/x?versionId=1", "is no prefix of a bucket: it has '?', '#' or an empty part."),
        ("s3://bucket/a//b", "is no prefix of a bucket: it has '?', '#' or an empty part."),
        ("cos://bucket/x", "bucket 'bucket' lacks the account's application id. Write cos://bucket-1250000000/x with"),
    ],
)
def test_what_is_no_place_is_bad_input(where: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        open_store(where, region="r")
    assert message in str(refused.value)


def test_options_must_fit(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="is a folder, which has no endpoint or region"):
        open_store(str(tmp_path), region="us-east-1")
    with pytest.raises(SpecError, match="--endpoint: 'https://id:key@host' is no address. Write https://host."):
        open_store("s3://bucket/x", endpoint="https://id:key@host")
