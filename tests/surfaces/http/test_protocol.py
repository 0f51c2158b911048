"""An open graph and a connected one are the same to whoever uses them: the same methods, parameters and results."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import omnigraph as og

PAIRS = [
    pytest.param(og.AnyGraph, og.Graph, og.RemoteGraph, id="graph"),
    pytest.param(og.AnySession, og.Session, og.RemoteSession, id="session"),
    pytest.param(og.AnyBranches, og.Branches, og.RemoteBranches, id="branches"),
    pytest.param(og.AnyTags, og.Tags, og.RemoteTags, id="tags"),
    pytest.param(og.AnyReviews, og.Reviews, og.RemoteReviews, id="reviews"),
]
ONLY_HERE = {"analytics", "embedder", "external_blobs", "to_networkx", "transaction"}
"""What an open graph has and a connected one has not, or refuses."""


def both(here: og.Graph, there: og.RemoteGraph) -> list[og.AnyGraph]:
    """mypy holds both against the protocol here."""
    return [here, there]


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in found]


@pytest.mark.parametrize(("protocol", "here", "there"), PAIRS)
def test_the_protocol_names_everything_that_both_have(protocol: type, here: type, there: type) -> None:
    only_here = ONLY_HERE if here is og.Graph else set()
    assert public(protocol) == public(here) - only_here | ({"branches", "tags"} if here is og.Graph else set())
    assert public(here) - only_here <= public(there) | {"branches", "tags", "reviews"}
    assert public(there) - only_here <= public(protocol)


@pytest.mark.parametrize(("protocol", "here", "there"), PAIRS)
def test_parameters_are_the_same(protocol: type, here: type, there: type) -> None:
    functions = [name for name in public(protocol) if inspect.isfunction(inspect.getattr_static(protocol, name))]
    assert functions
    for name in functions:
        expected = parameters(getattr(protocol, name))
        assert parameters(getattr(here, name)) == expected, name
        assert parameters(getattr(there, name)) == expected, name


@pytest.mark.parametrize(("protocol", "here", "there"), PAIRS)
def test_results_are_of_the_same_classes(protocol: type, here: type, there: type) -> None:
    for name in public(protocol):
        function = inspect.getattr_static(protocol, name)
        if not inspect.isfunction(function):
            continue
        wanted = [str(inspect.signature(getattr(cls, name)).return_annotation) for cls in (protocol, here, there)]
        plain = {text.replace("builtins.", "").replace("Remote", "").replace("Any", "") for text in wanted}
        assert len(plain) == 1, (name, wanted)
