"""Where an object store is, said by the environment."""

from __future__ import annotations

import pytest

from omnigraph.storage.files.environment import options_from
from omnigraph.storage.files.place import Place


def test_variables_become_options() -> None:
    assert options_from({}) == {}
    assert options_from({"AWS_ENDPOINT_URL": "http://a", "AWS_ALLOW_HTTP": "true", "OTHER": "x"}) == {
        "aws_endpoint": "http://a",
        "allow_http": "true",
    }
    assert options_from({"AWS_ENDPOINT_URL_S3": "http://b", "AWS_ENDPOINT_URL": "http://a"}) == {"aws_endpoint": "http://b"}
    assert options_from({"AWS_REGION": "eu", "AWS_DEFAULT_REGION": "us"}) == {"aws_region": "eu"}
    assert options_from({"AWS_ENDPOINT_URL": ""}) == {}


def test_what_is_said_to_the_place_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://a")
    assert Place.at("s3://b/c").options["aws_endpoint"] == "http://a"
    assert Place.at("s3://b/c", {"aws_endpoint": "http://mine"}).options["aws_endpoint"] == "http://mine"
    assert Place.at("/a/folder").options == {}
