"""Four places that behave alike, and nothing of this machine's own credentials."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .object_server import KEY_ID, SECRET, ObjectServer
from .places import S3, Folder, Objects, Place, running


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "OSS_SESSION_TOKEN", "GPUYARD_CLOUD", "GPUYARD_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for service in ("OSS_ACCESS_KEY_ID", "TENCENTCLOUD_SECRET_ID", "AWS_ACCESS_KEY_ID"):
        monkeypatch.setenv(service, KEY_ID)
    for service in ("OSS_ACCESS_KEY_SECRET", "TENCENTCLOUD_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(service, SECRET)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "3")
    real = socket.getaddrinfo

    def lookup(host: Any, *arguments: Any, **more: Any) -> Any:
        """Buckets have hosts of their own."""
        return real("127.0.0.1" if str(host).endswith(".test") else host, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)


@pytest.fixture
def oss() -> Iterator[Objects]:
    with running(ObjectServer("oss", "ck-bucket")) as server:
        yield Objects(server, "oss", "cn-hangzhou")


@pytest.fixture
def cos() -> Iterator[Objects]:
    with running(ObjectServer("cos", "ck-1250000000")) as server:
        yield Objects(server, "cos", "ap-guangzhou")


@pytest.fixture(scope="module")
def moto_s3() -> Iterator[Any]:
    """One for many tests: its start, and each first client after it, take long."""
    from moto import mock_aws
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    with mock_aws():
        backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        backend.create_bucket("ck-bucket", "us-east-1")
        yield backend


@pytest.fixture
def s3(moto_s3: Any) -> S3:
    moto_s3.buckets["ck-bucket"].keys.clear()
    return S3(moto_s3)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "ck").mkdir()
    return Folder(tmp_path / "ck")


@pytest.fixture(params=["folder", "s3", "oss", "cos"])
def place(request: pytest.FixtureRequest) -> Place:
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["s3", "oss", "cos"])
def bucket(request: pytest.FixtureRequest) -> Place:
    return request.getfixturevalue(request.param)
