"""The error tree: drawn, complete, stable."""

from __future__ import annotations

import re

import pytest

import omnigraph
from omnigraph import errors
from omnigraph.errors import EXIT_CODES, GraphError, ParseError, exit_code
from omnigraph.language import Source, parse_schema


def descendants(cls: type[GraphError]) -> list[type[GraphError]]:
    found = []
    for child in cls.__subclasses__():
        found += [child, *descendants(child)]
    return found


FRONT_DOOR = {"ExternalBlobs", "Graph", "Result", "init", "open", "view"}
ALL = [cls for cls in descendants(GraphError) if getattr(errors, cls.__name__, None) is cls]
LEAVES = [cls for cls in ALL if not set(cls.__subclasses__()) & set(ALL)]


def test_the_docstring_draws_the_tree() -> None:
    drawn = re.findall(r"[├└]── (\w+)(?: +([a-z_]+)  )?", errors.__doc__ or "")
    assert sorted(name for name, _ in drawn) == sorted(cls.__name__ for cls in ALL)
    codes = {name: code for name, code in drawn if code}
    assert codes == {cls.__name__: cls.code for cls in LEAVES}


def test_every_leaf_has_a_code_of_its_own() -> None:
    codes = [cls.code for cls in LEAVES]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z_]+", code) for code in codes)


@pytest.mark.parametrize("cls", LEAVES, ids=lambda c: c.__name__)
def test_every_leaf_has_a_hint_and_says_whether_to_retry(cls: type[GraphError]) -> None:
    assert isinstance(cls.retryable, bool)
    assert cls.default_hint or cls is errors.QueryError, "a leaf tells people what to do next"


def test_exported_errors_are_the_tree() -> None:
    listed = {name: getattr(omnigraph, name) for name in omnigraph.__all__}
    exported = {name for name, found in listed.items() if isinstance(found, type) and issubclass(found, GraphError)}
    assert exported == {cls.__name__ for cls in ALL} | {"GraphError"}
    assert set(listed) >= FRONT_DOOR


def test_exit_codes() -> None:
    assert exit_code(errors.NotFound("x")) == 1
    assert exit_code(errors.UsageError("x")) == 1
    assert exit_code(errors.PreconditionFailed("x")) == 4
    assert set(EXIT_CODES) <= {cls.code for cls in LEAVES}


def test_errors_are_data() -> None:
    error = errors.ReadSetChanged("somebody was faster")
    assert error.to_dict() == {
        "error": "somebody was faster",
        "code": "read_set_changed",
        "retryable": True,
        "hint": "Read again and retry.",
    }
    assert errors.NotFound("x", hint="look there").hint == "look there"


def test_a_language_error_shows_every_problem() -> None:
    with pytest.raises(ParseError) as caught:
        parse_schema(Source("node A { x }\nnode B { y }", "s.pg"))
    assert caught.value.message.endswith("(and 1 more)")
    assert str(caught.value).count("-->") == 2
    diagnostics = caught.value.to_dict()["diagnostics"]
    assert isinstance(diagnostics, list)
    assert len(diagnostics) == 2
