"""Migration plans: every case of `migration_cases`, the order of steps, refusals, values for what exists, and laws."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.catalog.migration_cases import NUMBERED, TABLE, change, summary
from tests.catalog.schema_texts import DOMAIN, Blocks, accept, schema_blocks, shape, shuffled, text_of

from omnigraph.catalog.canonical_json import Json, compact
from omnigraph.catalog.identity import resolve
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration import plan, plan_change, planner, refuse_unsupported, render_plan
from omnigraph.catalog.migration.codes import CODES, Family, Severity, Status, Tier
from omnigraph.catalog.migration.render import constraint_text, render_step
from omnigraph.catalog.migration.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    Refusal,
    RenameProperty,
    RenameType,
    RequireProperty,
    TightenCardinality,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.catalog.shape import Check, Index, Key, Note, Range, Unique
from omnigraph.errors import ParseError, SchemaError, SchemaIdentityError, UnsupportedChange, UsageError
from omnigraph.language.source import Source
from omnigraph.model.types import PropertyType, Scalar


class TestCases:
    @pytest.mark.parametrize("number", NUMBERED)
    def test_numbered_case(self, number: str) -> None:
        NUMBERED[number].check()

    @pytest.mark.parametrize("row", TABLE)
    def test_row_of_the_table(self, row: str) -> None:
        TABLE[row].check()

    @pytest.mark.parametrize("row", [*NUMBERED, *TABLE])
    def test_accepting_a_change_leaves_nothing_to_change(self, row: str) -> None:
        entry = {**NUMBERED, **TABLE}[row]
        accepted = accept(entry.before, entry.after)
        assert plan_change(accepted, Source(entry.after))[0].steps == ()

    def test_m11_allowed_data_loss_makes_every_drop_hard(self) -> None:
        found = change("node A { x: I32 } node B {} edge E: A -> A", "node A {}", allow_data_loss=True)
        assert found.steps == (
            DropProperty("node", "A", "x", DropMode.HARD),
            DropType("node", "B", DropMode.HARD),
            DropType("edge", "E", DropMode.HARD),
        )
        assert render_plan(found)[0] == "drop property 'A.x' of node 'A' (hard mode)"

    def test_m13_no_steps_is_supported_and_says_so(self) -> None:
        found = change("node A {}", "// nothing new\nnode A {}")
        assert found.to_json() == {"supported": True, "steps": []}
        assert render_plan(found) == ("no schema changes",)

    def test_m18_readded_type_is_new(self) -> None:
        first = accept("node Person { name: String } node B {}")
        dropped = accept("node Person { name: String } node B {}", "node B {}")
        found, resolution = plan_change(dropped, Source("node Person { name: String } node B {}"))
        assert found.steps == (AddType("node", "Person"),)
        person = next(n for n in resolution.ir.nodes if n.name == "Person")
        assert min(person.type_id, person.incarnation, person.properties[0].property_id) >= first.next_id

    def test_dropping_a_node_an_edge_points_at_is_an_error_of_the_schema(self) -> None:
        with pytest.raises(SchemaError, match="unknown node type `A`"):
            change("node A {} node B {} edge E: B -> A", "node B {} edge E: B -> A")

    def test_errors_of_the_text_come_through_unchanged(self) -> None:
        with pytest.raises(ParseError):
            change("node A {}", "node A {")
        with pytest.raises(SchemaIdentityError, match="no accepted declaration has that name"):
            change("node A {}", 'node B @rename_from("C") {}')

    def test_notices_come_with_the_plan(self) -> None:
        found, resolution = plan_change(accept("node A {}"), Source('node A @rename_from("Old") {}'))
        assert found.steps == ()
        assert [notice.entity for notice in resolution.notices] == ["node:A"]


class TestOrder:
    def test_everything_at_once(self) -> None:
        before = """
            interface I { x: I32? }  interface Gone {}
            node A @description("a") { d: I32 e: enum(a) n: String }
            node Z {}
            edge E: A -> A { w: I32? }
            edge X: A -> A
        """
        after = """
            interface I { x: I32? }  interface Fresh {}
            node B @rename_from("A") @description("b") { a: I32? e: enum(a, b) m: String @index @rename_from("n") @index(e) }
            node Aa {}
            edge F: B -> Aa @card(0..1) @rename_from("E") { w: I32? @unique @description("w") }
        """
        assert summary(change(before, after)) == [
            "add interface type 'Fresh'",
            "no interface:Gone",
            "add node type 'Aa'",
            "rename node type 'A' -> 'B'",
            "update metadata on node 'B' (@description(\"b\"))",
            "add property 'B.a' (I32?) on node 'B'",
            "extend enum 'B.e' (+b) on node 'B'",
            "rename property 'B.n' -> 'B.m' on node 'B'",
            "add constraint @index(m) on node 'B'",
            "drop property 'B.d' of node 'B' (soft mode)",
            "add constraint @index(e) on node 'B'",
            "drop node type 'Z' (soft mode)",
            "rename edge type 'E' -> 'F'",
            "no edge:F",
            "tighten cardinality of edge 'F' to @card(0..1)",
            "add constraint @unique(w) on edge 'F'",
            "update metadata on property 'F.w' of edge 'F' (@description(\"w\"))",
            "drop edge type 'X' (soft mode)",
        ]

    def test_worked_example_of_the_planner(self) -> None:
        before = "node Person { name: String state: enum(open, done) age: I32? } edge Knows: Person -> Person @card(0..9)"
        after = """
            node Human @rename_from("Person") {
                name: String @index
                status: enum(open, done, stuck) @rename_from("state")
            }
            edge Knows: Human -> Human
        """
        lines = render_plan(change(before, after))
        assert planner.__doc__ is not None
        assert [line.strip() for line in planner.__doc__.splitlines() if line.strip() in lines] == list(lines[:-1])
        assert lines[-1].startswith("unsupported change on edge:Knows: the cardinality of edge Knows cannot change ")

    def test_one_property_in_every_respect(self) -> None:
        before = 'interface I { x: Vector(3)? } node A implements I { s: String x: Vector(3)? @description("a") @own }'
        after = "interface I { x: Vector(4)? @index @embed(s) s: String } node A implements I { s: String }"
        reasons = [r.reason for r in change(before, after).refusals if r.entity == "node:A.x"]
        words = ["cannot change its type", "@embed of A.x", "is declared in the node", "custom annotations"]
        assert [next(w for w in words if w in reason) for reason in reasons] == words


class TestRefusals:
    @pytest.mark.parametrize("row", [*NUMBERED, *TABLE])
    def test_a_reason_is_one_sentence_that_says_what_to_do_instead(self, row: str) -> None:
        entry = {**NUMBERED, **TABLE}[row]
        found = change(entry.before, entry.after)
        assert found.supported == (not found.refusals)
        for refusal in found.refusals:
            problem, _, advice = refusal.reason.partition("; ")
            assert "cannot" in problem
            assert re.match(r"(keep|add|leave|put)\b", advice)
            assert not refusal.reason.endswith(".")

    def test_refusing_raises_the_first_reason_with_its_code(self) -> None:
        with pytest.raises(UnsupportedChange) as caught:
            refuse_unsupported(change("node A { y: I32? }", "node A { x: I32 y: I64? }"))
        assert caught.value.message == (
            "[OG-MF-103] A.x cannot be added as required I32, because existing entities would have no value; "
            "add it as I32? and fill it in, or say what they are to have (backfill, compute)"
        )

    def test_refusing_without_a_code(self) -> None:
        with pytest.raises(UnsupportedChange) as caught:
            refuse_unsupported(change("node A {} edge E: A -> A @card(0..1)", "node A {} edge E: A -> A"))
        assert caught.value.message == (
            "the cardinality of edge E cannot change from @card(0..1) to @card(0..), which allows what was not allowed; "
            "keep it, or add a new edge type and load the edges there"
        )

    def test_supported_plan_is_not_refused(self) -> None:
        refuse_unsupported(change("node A {}", "node A { x: I32? }"))

    def test_difference_nobody_classified(self) -> None:
        accepted = accept("node A {}")
        found = plan(accepted, replace(accepted, next_id=accepted.next_id + 1))
        (refusal,) = found.refusals
        assert refusal.entity == "schema"
        assert "unclassified semantic IR change" in refusal.reason
        assert not found.supported

    def test_renamed_interface_is_refused_when_an_ir_says_so(self) -> None:
        accepted = accept("interface I {}")
        renamed = replace(accepted, interfaces=(replace(accepted.interfaces[0], name="J"),))
        assert summary(plan(accepted, renamed)) == ["no interface:J"]


class TestBackfill:
    """Values for entities that exist make a property required that could not be otherwise."""

    @staticmethod
    def lines(before: str, after: str, **values: Json) -> list[str]:
        named = {name.replace("__", "."): value for name, value in values.items()}
        return list(render_plan(plan_change(accept(before), Source(after), backfill=named)[0]))

    def test_a_required_property_comes_with_a_value(self) -> None:
        assert self.lines("node A {}", "node A { x: I32 v: Vector(2)? }", A__x=7, A__v=[1, 0.5]) == [
            "add property 'A.v' (Vector(2)?) on node 'A' (existing: [1,0.5])",
            "add property 'A.x' (I32) on node 'A' (existing: 7)",
        ]

    def test_a_property_becomes_required_under_its_new_name(self) -> None:
        assert self.lines("node A { x: I32? }", 'node A { y: I32 @rename_from("x") }', A__y=0) == [
            "rename property 'A.x' -> 'A.y' on node 'A'",
            "require property 'A.y' on node 'A' (existing: 0)",
        ]

    def test_what_is_said_of_an_interface_holds_for_its_nodes_unless_they_say_otherwise(self) -> None:
        before = "interface I {} node A implements I {} node B implements I {}"
        after = "interface I { x: I32 } node A implements I {} node B implements I {}"
        assert self.lines(before, after, I__x=1, B__x=2) == [
            "add property 'I.x' (I32) on interface 'I' (existing: 1)",
            "add property 'A.x' (I32) on node 'A' (existing: 1)",
            "add property 'B.x' (I32) on node 'B' (existing: 2)",
        ]

    def test_a_value_nobody_has_use_for_is_an_error(self) -> None:
        with pytest.raises(UsageError, match=r"`A\.z`"):
            self.lines("node A { x: I32 }", "node A { x: I32 y: I32? }", A__z=1)
        with pytest.raises(UsageError, match=r"`A\.x`"):
            self.lines("node A { x: I32 }", "node A { x: I32 y: I32? }", A__x=1)

    def test_what_a_step_holds_can_be_compared(self) -> None:
        (step,) = plan_change(accept("node A {}"), Source("node A { v: Vector(2) }"), backfill={"A.v": [1, 2]})[0].steps
        assert step in {step}


class TestLineage:
    def test_another_domain(self) -> None:
        accepted = accept("node A {}")
        with pytest.raises(SchemaIdentityError, match="identity domain"):
            plan(accepted, replace(accepted, domain="01BX5ZZKBKACTAV9WEVGEMMVRZ"))

    def test_counter_that_went_back(self) -> None:
        accepted = accept("node A {} node B {}", "node A {}")
        with pytest.raises(SchemaIdentityError, match="is below the accepted"):
            plan(accepted, replace(accepted, next_id=4))

    def test_id_of_something_that_has_gone(self) -> None:
        with pytest.raises(SchemaIdentityError, match="node:B has id 2, which was given out before and has gone"):
            plan(accept("node A {} node B {}", "node A {}"), accept("node A {} node B {}"))

    def test_id_that_changed_its_meaning(self) -> None:
        accepted = accept("node A {} node B {}")
        first, second = accepted.nodes
        swapped = (
            replace(first, incarnation=second.incarnation),
            replace(second, incarnation=first.incarnation),
        )
        with pytest.raises(SchemaIdentityError, match="id 4 was the table of node:B and is now the table of node:A"):
            plan(accepted, replace(accepted, nodes=swapped))


class TestJson:
    def test_every_kind_of_step(self) -> None:
        note = Note("description", "d")
        steps = (
            AddType("node", "A"),
            RenameType("edge", "A", "B"),
            AddProperty("node", "A", "x", PropertyType(Scalar.STRING, True, enum_values=("a", "b"))),
            AddProperty("node", "A", "x", PropertyType(Scalar.I32), 7),
            RequireProperty("node", "A", "x"),
            RequireProperty("edge", "E", "x", "v"),
            TightenCardinality("E", 0, None),
            RenameProperty("node", "A", "x", "y"),
            AddConstraint("node", "A", Index(("x", "y"))),
            ExtendEnum("node", "A", "x", ("c",)),
            UpdateTypeMetadata("node", "A", (note,)),
            UpdatePropertyMetadata("node", "A", "x", ()),
            DropType("edge", "E", DropMode.SOFT),
            DropProperty("interface", "I", "x", DropMode.HARD),
            Refusal("node:A.x", "why", CODES["OG-MF-103"]),
            Refusal("schema", "why"),
        )
        assert [compact(step.to_json()) for step in steps] == [
            '{"kind":"add_type","type_kind":"node","name":"A"}',
            '{"kind":"rename_type","type_kind":"edge","from":"A","to":"B"}',
            '{"kind":"add_property","type_kind":"node","type_name":"A","property_name":"x",'
            '"property_type":{"scalar":"String","nullable":true,"list":false,"enum_values":["a","b"]}}',
            '{"kind":"add_property","type_kind":"node","type_name":"A","property_name":"x",'
            '"property_type":{"scalar":"I32","nullable":false,"list":false,"enum_values":null},"backfill":7}',
            '{"kind":"require_property","type_kind":"node","type_name":"A","property_name":"x"}',
            '{"kind":"require_property","type_kind":"edge","type_name":"E","property_name":"x","backfill":"v"}',
            '{"kind":"tighten_cardinality","type_kind":"edge","type_name":"E","min":0,"max":null}',
            '{"kind":"rename_property","type_kind":"node","type_name":"A","from":"x","to":"y"}',
            '{"kind":"add_constraint","type_kind":"node","type_name":"A","constraint":{"Index":["x","y"]}}',
            '{"kind":"extend_enum","type_kind":"node","type_name":"A","property_name":"x","added_values":["c"]}',
            '{"kind":"update_type_metadata","type_kind":"node","name":"A","annotations":[{"name":"description","value":"d"}]}',
            '{"kind":"update_property_metadata","type_kind":"node","type_name":"A","property_name":"x","annotations":[]}',
            '{"kind":"drop_type","type_kind":"edge","name":"E","mode":"soft"}',
            '{"kind":"drop_property","type_kind":"interface","type_name":"I","property_name":"x","mode":"hard"}',
            '{"kind":"unsupported_change","entity":"node:A.x","reason":"why","code":"OG-MF-103"}',
            '{"kind":"unsupported_change","entity":"schema","reason":"why"}',
        ]

    def test_plan(self) -> None:
        found = change("node A {}", "node A { x: I32 }").to_json()
        assert list(found) == ["supported", "steps"]
        assert found["supported"] is False


class TestRendering:
    def test_refusals_with_and_without_a_code(self) -> None:
        assert render_step(Refusal("node:A", "why")) == "unsupported change on node:A: why"
        coded = Refusal("node:A.x", "why", CODES["OG-MF-106"])
        assert render_step(coded) == "unsupported change on node:A.x [OG-MF-106, destructive]: why"

    def test_text_of_notes_is_escaped_as_in_a_schema(self) -> None:
        step = UpdateTypeMetadata("node", "A", (Note("description", 'say "hi"\n'), Note("x", None, (("k", "v"),))))
        assert render_step(step) == 'update metadata on node \'A\' (@description("say \\"hi\\"\\n") @x(k="v"))'

    @pytest.mark.parametrize(
        ("constraint", "text"),
        [
            (Key(("a", "b")), "@key(a, b)"),
            (Unique(("a",)), "@unique(a)"),
            (Index(("a",)), "@index(a)"),
            (Range("a", 0, None), "@range(a, 0..)"),
            (Range("a", None, 1.0), "@range(a, ..1.0)"),
            (Check("a", 'x"'), '@check(a, "x\\"")'),
        ],
    )
    def test_constraints(self, constraint: Key | Unique | Index | Range | Check, text: str) -> None:
        assert constraint_text(constraint) == text


class TestCodes:
    def test_catalogue(self) -> None:
        assert {code: (entry.tier.value, entry.status.value) for code, entry in CODES.items()} == {
            "OG-DS-101": ("destructive", "reserved"),
            "OG-DS-102": ("destructive", "catalogued"),
            "OG-DS-103": ("destructive", "catalogued"),
            "OG-DS-104": ("destructive", "catalogued"),
            "OG-DS-105": ("destructive", "reserved"),
            "OG-MF-103": ("validated", "emitted"),
            "OG-MF-104": ("validated", "reserved"),
            "OG-MF-106": ("destructive", "emitted"),
        }
        assert {entry.severity for entry in CODES.values()} == {Severity.ERROR}
        assert CODES["OG-MF-106"].family is Family.MF
        assert [tier.value for tier in Tier] == ["safe", "validated", "destructive"]
        assert [severity.value for severity in Severity] == ["error", "warn", "info"]

    @pytest.mark.parametrize("code", CODES)
    def test_code_has_the_format_and_a_known_family(self, code: str) -> None:
        assert re.fullmatch(r"OG-[A-Z]{2}-[0-9]{3}", code)
        assert CODES[code].family.name == code[3:5]
        assert str(CODES[code]) == code

    def test_families(self) -> None:
        assert {family.name for family in Family} == {"DS", "MF", "CD", "BC", "NM", "OW", "NL", "VE", "ED", "LK"}

    def test_exactly_the_codes_called_emitted_are_emitted(self) -> None:
        rows = [*NUMBERED.values(), *TABLE.values()]
        seen = {r.code.code for row in rows for r in change(row.before, row.after).refusals if r.code is not None}
        assert seen == {code for code, entry in CODES.items() if entry.status is Status.EMITTED}


class TestLaws:
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_a_schema_is_no_change_of_itself(self, data: st.DataObject) -> None:
        blocks = data.draw(schema_blocks())
        accepted = accept(text_of(blocks))
        assert plan(accepted, accepted).steps == ()
        assert plan_change(accepted, Source(text_of(data.draw(shuffled(blocks)))))[0].steps == ()

    @settings(max_examples=120, deadline=None)
    @given(schema_blocks(), schema_blocks(), st.booleans())
    def test_any_two_schemas_have_a_plan(self, first: Blocks, second: Blocks, allow_data_loss: bool) -> None:
        accepted = accept(text_of(first))
        found, resolution = plan_change(accepted, Source(text_of(second)), allow_data_loss=allow_data_loss)
        kinds = [step.to_json()["kind"] for step in found.steps]
        assert found.supported == ("unsupported_change" not in kinds)
        assert bool(found.steps) == (shape(text_of(first)).hash() != shape(text_of(second)).hash())
        assert len(set(found.steps)) == len(found.steps) == len(render_plan(found)) or not found.steps
        assert "unclassified" not in compact(found.to_json())
        modes = {step.mode for step in found.steps if isinstance(step, DropType | DropProperty)}
        assert modes <= {DropMode.HARD if allow_data_loss else DropMode.SOFT}
        assert plan(resolution.ir, resolution.ir).steps == ()

    @settings(max_examples=40, deadline=None)
    @given(schema_blocks())
    def test_creating_everything_is_one_step_per_type(self, blocks: Blocks) -> None:
        found, resolution = plan_change(SchemaIR(DOMAIN, 1), Source(text_of(blocks)))
        assert found.steps == tuple(AddType(t.kind, t.name) for t in resolution.ir.types)

    @settings(max_examples=40, deadline=None)
    @given(schema_blocks())
    def test_dropping_everything_is_refused_only_for_interfaces(self, blocks: Blocks) -> None:
        accepted = accept(text_of(blocks))
        found = plan(accepted, resolve(shape(""), accepted, domain=DOMAIN).ir)
        assert [r.entity for r in found.refusals] == [f"interface:{i.name}" for i in accepted.interfaces]
        assert len(found.steps) == len(list(accepted.types))
