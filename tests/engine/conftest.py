"""Tests of the Python API run on the open graph and on one behind a server: one suite, two places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

BOTH = frozenset(
    f"tests.engine.{name}"
    for name in (
        "history.test_diff",
        "history.test_feed",
        "history.test_merge",
        "history.test_repeats",
        "history.test_revert",
        "history.test_schemas",
        "history.test_schemas_compared",
        "load.test_folders",
        "load.test_forms",
        "load.test_modes",
        "reviews.test_reviews",
        "test_export",
        "test_front_door",
        "test_inspect",
        "test_subgraph",
        "write.test_mutations",
        "write.test_schema_apply",
    )
)
"""Modules whose tests run in both places."""

IN_A_BUCKET = frozenset({"tests.engine.history.test_repeats", "tests.engine.reviews.test_reviews"})
"""Those of them that run on a served graph in a bucket as well."""

ONLY_HERE = {
    "test_a_commit_in_between_is_checked_again": "a progress that interferes: a server reports none",
    "test_a_fast_forward_reads_and_writes_no_row": "looks at what a commit says of tables",
    "test_bulk_rules_say_what_rules_on_few_rows_say": "of rules, whatever reads the rows",
    "test_choices_that_do_not_exist": "one of them is Spark",
    "test_load_undoes_export": "hypothesis: a hundred graphs, one at a time",
    "test_progress_is_told": "a server reports none",
}
"""Tests of these modules that are about what only an open graph has, and what that is."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A run in each place. The open graph keeps the names that tests have."""
    if metafunc.module.__name__ in BOTH and "place" in metafunc.fixturenames:
        name = metafunc.function.__name__
        bucket = ["bucket"] if metafunc.module.__name__ in IN_A_BUCKET else []
        metafunc.parametrize("place", ["here"] if name in ONLY_HERE else ["here", "served", *bucket], indirect=True)


@pytest.fixture(scope="session")
def http_server() -> Iterator[Any]:
    """The server of a process that runs tests."""
    from tests.engine.served import Server

    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="session")
def bucket_server() -> Iterator[dict[str, str]]:
    """A store of objects, by the variables that lead to it."""
    from tests.storage.s3 import server

    with server() as running:
        yield {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": running.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }


@pytest.fixture(autouse=True)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where the graph of a test is."""
    if getattr(request, "param", "here") == "here":
        yield
        return
    from tests.engine.served import everything_served
    from tests.storage.s3 import BUCKET

    bucket = request.getfixturevalue("bucket_server") if request.param == "bucket" else None
    for name, value in (bucket or {}).items():
        monkeypatch.setenv(name, value)
    with everything_served(request.getfixturevalue("http_server"), monkeypatch, None if bucket is None else BUCKET):
        yield
