"""Digests, byte by byte: ledgers of others hold them."""

from __future__ import annotations

from hashlib import sha256

import pytest
from tests.cluster.clusters import FULL, NAMES, PERSON, SIMPLE, TEAM, Cluster

from omnigraph.cluster.config import digests


def hexed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def digest_map(cluster: Cluster) -> dict[str, str]:
    found = cluster.validate()
    assert found.ok, found.diagnostics
    assert found.desired is not None
    return found.desired.digest_map


def test_files_are_digested_as_they_are(cluster: Cluster) -> None:
    found = digest_map(cluster.config(FULL))
    assert found["schema.people"] == hexed(PERSON)
    assert found["query.people.names"] == hexed(NAMES)
    assert found["policy.team"] == hexed(TEAM)


def test_a_graph_is_its_parts(cluster: Cluster) -> None:
    cluster.write("queries/more.gq", NAMES.replace("names", "a_names"))
    more = hexed(NAMES.replace("names", "a_names"))
    assert digest_map(cluster.config(FULL))["graph.people"] == hexed(
        f"graph\0people\0schema\0{hexed(PERSON)}\0query\0a_names\0{more}\0query\0names\0{hexed(NAMES)}\0"
    )


def test_a_provider_is_what_is_set_of_it(cluster: Cluster) -> None:
    text = (
        "version: 1\nproviders:\n  embedding:\n    main: { api_key: '${KEY}', model: m, provider: openai }\n"
        "graphs:\n  people:\n    schema: people.pg\n    embedding_provider: provider.embedding.main\n"
        "    external_blobs: { allow: [{ base: s3://media/b, scope: server_safe }, { base: s3://media/a, scope: server_safe }] }\n"
    )
    found = digest_map(cluster.config(text))
    provider = hexed('embedding-provider\0{"kind":"openai","model":"m","api_key":"${KEY}"}')
    assert found["provider.embedding.main"] == provider
    bases = '[{"uri":"s3://media/a","scope":"server_safe"},{"uri":"s3://media/b","scope":"server_safe"}]'
    assert found["graph.people"] == hexed(
        f"graph\0people\0schema\0{hexed(PERSON)}\0embedding_provider\0provider.embedding.main\0{provider}\0"
        f'external_blob_policy\0{{"mode":"allow","bases":{bases}}}\0'
    )


def config_digest(cluster: Cluster) -> str:
    found = cluster.validate()
    assert found.desired is not None
    return found.desired.config_digest


@pytest.mark.parametrize(
    ("config", "files", "same"),
    [
        (f"# a comment\n{SIMPLE}", {}, True),
        ("version: 1\ngraphs: {people: {schema: 'people.pg'}}", {}, True),
        ("graphs:\n  people:\n    schema: people.pg\nversion: 1", {}, True),
        (f"{SIMPLE}metadata: {{ name: x }}\n", {}, False),
        (SIMPLE, {"people.pg": f"// a comment\n{PERSON}"}, False),
        (SIMPLE, {"things.pg": "// nobody names it"}, True),
    ],
)
def test_the_configuration_is_what_it_says(cluster: Cluster, config: str, files: dict[str, str], same: bool) -> None:
    before = config_digest(cluster)
    for path, text in files.items():
        cluster.write(path, text)
    assert (config_digest(cluster.config(config)) == before) is same


def test_the_state_is_compared_by_its_bytes() -> None:
    assert digests.state_cas(b"{}\n") == f"sha256:{hexed('{}' + chr(10))}"
