"""Clusters to work on: in a folder, and below a bucket of a real S3 server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.clusters import Cluster
from tests.storage.s3 import BUCKET, server


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "cluster")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with server() as running, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": running.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"


@pytest.fixture(params=["folder", "bucket"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    if request.param == "folder":
        return Cluster(tmp_path / "cluster")
    return Cluster(tmp_path / "cluster", f"{request.getfixturevalue('bucket')}/{os.urandom(4).hex()}")
