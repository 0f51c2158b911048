"""The whole description of the interface, fuzzed: no answer is a failure inside, and none that the description does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from tests.surfaces.http.conftest import TOKENS, people, serving

from omnigraph.model.versions import API_VERSION
from omnigraph.surfaces.http.describing.openapi import document
from omnigraph.surfaces.http.routes import ROUTES

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
HARMFUL = {"cluster_embed"}
"""It asks a provider, and none is configured."""


@schemathesis.serializer("application/x-ndjson", "application/x-tar")
def as_bytes(ctx: object, value: object) -> bytes:
    """What is not JSON is sent as it comes."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


described = schemathesis.openapi.from_dict(document(ROUTES, API_VERSION, secured=True))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that everything may be done to."""
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    with serving(people(folder), more=("--log-level", "error")) as running:
        yield running.url


@pytest.mark.slow
@described.exclude(operation_id=sorted(HARMFUL)).parametrize()
@settings(
    max_examples=6,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_answer_is_a_surprise(case: Case[Any], url: str) -> None:
    if "graph_id" in case.path_parameters and case.path_parameters["graph_id"] != "people":
        given: dict[str, Any] = {**case.path_parameters, "graph_id": "people"}
        case.path_parameters = given
    headers = {"Authorization": f"Bearer {TOKENS['ada']}"}
    case.call_and_validate(base_url=url, headers=headers, checks=CHECKS, timeout=30)
