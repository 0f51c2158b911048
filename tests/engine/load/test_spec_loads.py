"""The numbered cases of the specification (7.8)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.engine.load.loading import EVERYTHING, PEOPLE_LINES, counts, exported, graph, refused, rules, written

import omnigraph as og


def test_l1_overwrite_loads_everything(tmp_path: Path) -> None:
    g = graph(tmp_path)
    result = g.load(PEOPLE_LINES, mode="overwrite")
    assert result.nodes_loaded == {"Person": 4, "Company": 2}
    assert result.edges_loaded == {"Knows": 3, "WorksAt": 2}
    assert counts(g) == {"Person": 4, "Company": 2, "Knows": 3, "WorksAt": 2}
    assert len(g.commits()) == 2


def test_l2_append_of_what_exists_is_a_key_conflict(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES, mode="overwrite")
    with pytest.raises(og.KeyConflict, match="exists already") as found:
        g.load(PEOPLE_LINES, mode="append")
    assert len(found.value.violations) == 6
    assert counts(g)["Knows"] == 3


def test_l3_merge_of_edges_without_ids_adds_edges(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES, mode="overwrite")
    g.load(PEOPLE_LINES, mode="merge")
    assert counts(g) == {"Person": 4, "Company": 2, "Knows": 6, "WorksAt": 4}


def test_l4_export_load_export_is_byte_identical(tmp_path: Path) -> None:
    first, second = graph(tmp_path), graph(tmp_path)
    first.load(PEOPLE_LINES)
    first.export(tmp_path / "one.jsonl")
    second.load(tmp_path / "one.jsonl", mode="overwrite")
    second.export(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_l5_overwriting_nodes_that_kept_edges_need_is_refused(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    people = [{"type": "Person", "data": {"name": name}} for name in ("Bob", "Charlie", "Diana")]
    found = refused(g, people, mode="overwrite")
    assert set(rules(found)) == {"endpoint"}
    assert {v.value for v in found} == {"Alice"}


def test_l6_edges_may_come_before_their_nodes(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(written(tmp_path / "a.jsonl", reversed(PEOPLE_LINES.read_text().splitlines())))
    assert counts(g)["Knows"] == 3


def test_l7_a_record_over_several_lines_is_for_the_compatible_dialect(tmp_path: Path) -> None:
    g = graph(tmp_path)
    path = tmp_path / "a.jsonl"
    path.write_text('{\n  "type": "Person",\n  "data": {"name": "x"}\n}\n')
    found = refused(g, path)
    assert found[0].rule == "json"
    assert found[0].line == 1
    g.load(path, dialect="compatible")
    assert counts(g) == {"Person": 1}


def test_l8_a_member_twice(tmp_path: Path) -> None:
    (found,) = refused(graph(tmp_path), written(tmp_path / "a.jsonl", ['{"type":"Person","type":"Person","data":{}}']))
    assert found.rule == "duplicate_member"
    assert found.line == 1


def test_l9_an_unknown_property(tmp_path: Path) -> None:
    g = graph(tmp_path)
    path = written(tmp_path / "a.jsonl", [{"type": "Person", "data": {"name": "x", "zzz": 1}}])
    (found,) = refused(g, path)
    assert (found.rule, found.property) == ("unknown_property", "zzz")
    g.load(path, dialect="compatible")
    assert counts(g) == {"Person": 1}


@pytest.mark.parametrize("age", ['"31"', "5.0"], ids=["L10 text", "L11 a fraction"])
def test_l10_l11_a_value_of_another_type(tmp_path: Path, age: str) -> None:
    g = graph(tmp_path)
    path = written(tmp_path / "a.jsonl", [f'{{"type":"Person","data":{{"name":"x","age":{age}}}}}'])
    (found,) = refused(g, path)
    assert (found.rule, found.property) == ("type", "age")
    g.load(path, dialect="compatible")
    assert exported(g)[0]["data"]["age"] is None


def test_l12_an_id_as_an_older_writer_spelt_it(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    records = [
        {"edge": "Counts", "from": "00042", "to": "7"},
        {"type": "Counted", "data": {"id": "00042", "number": 42}},
        {"type": "Counted", "data": {"number": 7}},
    ]
    (found,) = refused(g, records)
    assert (found.rule, found.value) == ("id", "00042")
    g.load(records, dialect="compatible")
    edge, *nodes = exported(g)
    assert (edge["from"], edge["to"]) == ("42", "7")
    assert [n["data"]["id"] for n in nodes] == ["42", "7"]


def test_l12_an_old_spelling_of_two_ids_is_ambiguous(tmp_path: Path) -> None:
    pairs = [{"type": "Pair", "data": {"id": "acme", "number": n, "tenant": "acme"}} for n in (1, 2)]
    (found,) = refused(graph(tmp_path, EVERYTHING), pairs, dialect="compatible")
    assert "ambiguous edge endpoint remap" in found.message


def test_l13_a_date_key_with_the_date_as_id(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load([{"type": "Dated", "data": {"id": "2024-01-01", "day": "2024-01-01"}}], dialect="compatible")
    assert exported(g)[0]["data"]["id"] == "19723"


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite"])
def test_l14_a_key_twice_in_one_input(tmp_path: Path, mode: str) -> None:
    twice = [{"type": "Person", "data": {"name": "Alice", "age": age}} for age in (1, 2)]
    (found,) = refused(graph(tmp_path), written(tmp_path / "a.jsonl", twice), mode=mode)
    assert (found.rule, found.entity, found.line) == ("unique", "Alice", 2)
    assert str(found).endswith("a.jsonl:2: Person `Alice` is there twice, first at line 1")
    (found,) = refused(graph(tmp_path), twice, mode=mode)
    assert str(found) == "record 2: Person `Alice` is there twice, first at record 1"


def test_l15_of_two_edges_with_one_id_the_later_wins_in_a_merge(tmp_path: Path) -> None:
    g = graph(tmp_path)
    people = [{"type": "Person", "data": {"name": name}} for name in ("a", "b")]
    edges = [{"edge": "Knows", "from": f, "to": t, "data": {"id": "e"}} for f, t in (("a", "b"), ("b", "a"))]
    result = g.load([*people, *edges])
    assert result.edges_loaded == {"Knows": 1}
    assert [(r["from"], r["to"]) for r in exported(g, types=["Knows"])] == [("b", "a")]


@pytest.mark.parametrize(
    "vector", [[1, 2], [1, None, 3], [1, "x", 3], [1, 1e39, 3]], ids=["L16 length", "L17 null", "text", "huge"]
)
def test_l16_l17_vectors(tmp_path: Path, vector: list[object]) -> None:
    path = written(tmp_path / "a.jsonl", [{"type": "Thing", "data": {"name": "x", "vector": vector}}])
    (found,) = refused(graph(tmp_path, EVERYTHING), path)
    assert (found.rule, found.property) == ("type", "vector")
    if len(vector) == 2:
        assert "expects 3 dimensions" in found.message


def test_l18_an_empty_blob_is_not_null(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load(
        written(
            tmp_path / "a.jsonl", [{"type": "Thing", "data": {"name": n, "blob": b}} for n, b in (("a", "base64:"), ("b", None))]
        )
    )
    assert [r["data"]["blob"] for r in exported(g)] == ["base64:", None]


@pytest.mark.parametrize("blob", ["file:///x", "s3://bucket/x", ""])
def test_l19_a_reference_to_another_place_is_refused_by_policy(tmp_path: Path, blob: str) -> None:
    path = written(tmp_path / "a.jsonl", [{"type": "Thing", "data": {"name": "x", "blob": blob}}])
    (found,) = refused(graph(tmp_path, EVERYTHING), path)
    assert (found.rule, found.property) == ("blob", "blob")


def test_l20_a_float_must_be_finite_at_its_width(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load(written(tmp_path / "a.jsonl", ['{"type":"Thing","data":{"name":"x","f32":3.4028235e38}}']))
    (found,) = refused(g, written(tmp_path / "b.jsonl", ['{"type":"Thing","data":{"name":"y","f32":1e39}}']))
    assert (found.rule, found.property) == ("type", "f32")


def test_l21_a_branch_is_made_on_the_way_when_asked(tmp_path: Path) -> None:
    g = graph(tmp_path)
    with pytest.raises(og.NotFound, match="branch `etl/1` not found") as missing:
        g.load(PEOPLE_LINES, branch="etl/1")
    assert missing.value.hint == "Pass from_=… to create it."
    result = g.load(PEOPLE_LINES, branch="etl/1", from_="main")
    assert (result.branch, result.base_branch, result.branch_created) == ("etl/1", "main", True)
    assert counts(g) == {}
    again = g.load([], branch="etl/1", from_="main")
    assert not again.branch_created
    assert g.commits("etl/1")[0].id == again.commit.id


def test_l21_no_branch_is_made_for_an_input_that_is_refused(tmp_path: Path) -> None:
    g = graph(tmp_path)
    with pytest.raises(og.ValidationError):
        g.load([{"type": "Person"}], branch="etl/1", from_="main")
    assert g.branches.list() == ["main"]


def test_l22_edge_names_in_any_case(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    result = g.load(
        written(
            tmp_path / "a.jsonl", [{"edge": "knows", "from": "Alice", "to": "Bob"}, {"edge": "KNOWS", "from": "Bob", "to": "Bob"}]
        )
    )
    assert result.edges_loaded == {"Knows": 2}


def test_l23_there_is_no_cap_on_rows(tmp_path: Path) -> None:
    """The reference stops at 8,192 entities per type; this engine does not."""
    g = graph(tmp_path)
    g.load(written(tmp_path / "a.jsonl", ({"type": "Person", "data": {"name": str(n)}} for n in range(8_193))), mode="append")
    assert counts(g) == {"Person": 8_193}


def test_l24_a_moment_with_a_zone(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load(written(tmp_path / "a.jsonl", [{"type": "Thing", "data": {"name": "x", "moment": "2024-01-01 00:00:00+02"}}]))
    assert exported(g)[0]["data"]["moment"] == "2023-12-31T22:00:00.000Z"


def test_an_empty_input_is_no_commit(tmp_path: Path) -> None:
    g = graph(tmp_path)
    before = g.commits()
    result = g.load(io.BytesIO(b""), actor="etl", message="nothing today")
    assert (result.rows, result.changed, result.commit, result.actor) == (0, False, before[0], None)
    assert g.commits() == before
    assert repr(result) == "Nothing to load: there are no entities"
