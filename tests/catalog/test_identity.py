"""Identity from one schema to the next. Numbers I1 to I10 are those of the language specification, section 2.6."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.catalog.schema_texts import (
    DOMAIN,
    Blocks,
    accept,
    schema_blocks,
    shape,
    shuffled,
    text_of,
    with_node_renamed,
)

from omnigraph.catalog.identity import Notice, NoticeCode, resolve
from omnigraph.catalog.ir import EdgeIR, KeyIR, NodeIR, PropertyIR, SchemaIR, TypeIR, shape_of
from omnigraph.catalog.ir_rules import ir_problems
from omnigraph.catalog.migration import plan
from omnigraph.errors import SchemaIdentityError
from omnigraph.model.limits import MAX_U64

OTHER_DOMAIN = "01BX5ZZKBKACTAV9WEVGEMMVRZ"


def find(ir: SchemaIR, name: str) -> TypeIR:
    return next(type_ for type_ in ir.types if type_.name == name)


def node(ir: SchemaIR, name: str) -> NodeIR:
    return next(n for n in ir.nodes if n.name == name)


def edge(ir: SchemaIR, name: str) -> EdgeIR:
    return next(e for e in ir.edges if e.name == name)


def prop(ir: SchemaIR, owner: str, name: str) -> PropertyIR:
    return next(p for p in find(ir, owner).properties if p.name == name)


def refusal(accepted: SchemaIR, text: str) -> str:
    with pytest.raises(SchemaIdentityError) as caught:
        resolve(shape(text), accepted, domain=DOMAIN)
    return caught.value.message


class TestAllocation:
    def test_i1_new_graph_numbers_types_then_properties_then_tables(self) -> None:
        ir = accept("edge E: A -> B node B implements Z {} interface Z { p: String } node A {}")
        assert {t.name: t.type_id for t in ir.types} == {"Z": 1, "A": 2, "B": 3, "E": 4}
        assert (prop(ir, "Z", "p").property_id, prop(ir, "B", "p").property_id) == (5, 6)
        assert {t.name: t.incarnation for t in ir.tables} == {"A": 7, "B": 8, "E": 9}
        assert ir.next_id == 10

    def test_renaming_in_the_worked_example_numbers_only_what_is_new(self) -> None:
        first = "interface Z { p: String } node A {} node B implements Z {} edge E: A -> B"
        second = 'interface Z { p: String } node A {} node C @rename_from("B") implements Z { q: I32? } edge E: A -> C'
        ir = accept(first, second)
        assert (node(ir, "C").type_id, node(ir, "C").incarnation) == (3, 8)
        assert (prop(ir, "C", "p").property_id, prop(ir, "C", "q").property_id, ir.next_id) == (6, 10, 11)

    def test_properties_are_numbered_by_the_id_of_their_type_then_name(self) -> None:
        ir = accept("node A { z: I32 a: I32 } edge E: A -> A { m: I32 } interface Q { b: I32 }")
        ids = {f"{t.name}.{p.name}": p.property_id for t in ir.types for p in t.properties}
        assert ids == {"Q.b": 4, "A.a": 5, "A.z": 6, "E.m": 7}

    def test_later_properties_go_by_owner_id_even_when_an_older_owner_sorts_last(self) -> None:
        ir = accept("node Z {}", "node Z { q: I32? } node A { q: I32? }")
        assert find(ir, "A").type_id == 3
        assert (prop(ir, "Z", "q").property_id, prop(ir, "A", "q").property_id) == (4, 5)
        assert (node(ir, "Z").incarnation, node(ir, "A").incarnation) == (2, 6)

    def test_one_name_in_three_kinds_is_three_things(self) -> None:
        ir = accept("interface A {} node A {} edge A: A -> A")
        assert [t.type_id for t in ir.types] == [1, 2, 3]

    def test_empty_schema_takes_no_number(self) -> None:
        assert accept("") == SchemaIR(DOMAIN, 1)

    def test_i6_dropped_and_added_again_is_another_thing(self) -> None:
        first = accept("node A { x: I32 } node B {}")
        again = accept("node A { x: I32 } node B {}", "node B {}", "node A { x: I32 } node B {}")
        old = {find(first, "A").type_id, node(first, "A").incarnation, prop(first, "A", "x").property_id}
        new = {find(again, "A").type_id, node(again, "A").incarnation, prop(again, "A", "x").property_id}
        assert min(new) >= first.next_id
        assert not old & new
        assert node(again, "B") == node(first, "B")

    def test_dropped_and_added_property_is_another_property(self) -> None:
        first = accept("node A { x: I32? }")
        again = accept("node A { x: I32? }", "node A {}", "node A { x: I32? }")
        assert prop(again, "A", "x").property_id == first.next_id
        assert node(again, "A").incarnation == node(first, "A").incarnation

    def test_exhausted_counter_is_an_error_and_not_a_wrapped_number(self) -> None:
        nearly = SchemaIR(DOMAIN, MAX_U64 - 1)
        with pytest.raises(SchemaIdentityError, match="exhausted"):
            resolve(shape("node A {}"), nearly, domain=DOMAIN)
        last = SchemaIR(DOMAIN, MAX_U64 - 2)
        assert resolve(shape("interface A {}"), last, domain=DOMAIN).ir.next_id == MAX_U64 - 1

    def test_new_graph_takes_the_domain_given_and_an_old_one_keeps_its_own(self) -> None:
        ir = resolve(shape("node A {}"), None, domain=OTHER_DOMAIN).ir
        assert ir.domain == OTHER_DOMAIN
        assert resolve(shape("node A {}"), ir, domain=DOMAIN).ir.domain == OTHER_DOMAIN

    @pytest.mark.parametrize("domain", ["", "graph", DOMAIN.lower(), "8" + DOMAIN[1:], DOMAIN[:-1] + "U", DOMAIN + "A"])
    def test_domain_must_be_an_upper_case_ulid(self, domain: str) -> None:
        with pytest.raises(SchemaIdentityError, match="upper-case ULID"):
            resolve(shape("node A {}"), None, domain=domain)


class TestMatching:
    def test_i2_order_and_comments_play_no_part(self) -> None:
        one = "node A { x: enum(b, a) y: I32 @unique(y, x) } interface I {} edge E: A -> A"
        two = "edge E: A -> A // e\n interface I {} /* a */ node A { @unique(x, y) y: I32 x: enum(a, b) }"
        assert accept(one).to_json() == accept(two).to_json()
        assert accept(one).hash() == accept(two).hash()
        assert accept(one, two) == accept(one)

    def test_i2_bounds_that_differ_only_in_spelling_do_not_hide_each_other(self) -> None:
        one = accept("node A { x: F64 @range(x, 0..1) @range(x, 0.0..1.0) }")
        two = accept("node A { x: F64 @range(x, 0.0..1.0) @range(x, 0..1) }")
        assert len(node(one, "A").constraints) == 2
        assert one.hash() == two.hash()

    def test_i3_renamed_node_keeps_every_id(self) -> None:
        before = accept("node Person { name: String } edge Knows: Person -> Person")
        after = accept(
            "node Person { name: String } edge Knows: Person -> Person",
            'node Human @rename_from("Person") { name: String } edge Knows: Human -> Human',
        )
        old, new = node(before, "Person"), node(after, "Human")
        assert (new.type_id, new.incarnation) == (old.type_id, old.incarnation)
        assert new.properties == old.properties
        assert edge(after, "Knows").source.type_id == old.type_id
        assert after.next_id == before.next_id
        assert after.hash() != before.hash()

    def test_i4_hint_to_a_type_that_never_existed(self) -> None:
        message = refusal(accept("node A {}"), 'node A {} node B @rename_from("Ghost") {}')
        assert message == 'node:B: @rename_from("Ghost"): no accepted declaration has that name'

    @pytest.mark.parametrize(
        "text",
        [
            'node Human @rename_from("Person") {} node User @rename_from("Person") {}',
            'node Person {} node Human @rename_from("Person") {}',
        ],
        ids=["i5-two-renamed-from-one", "i5-kept-and-renamed"],
    )
    def test_i5_one_accepted_type_cannot_become_two(self, text: str) -> None:
        assert "node:Person would be consumed by more than one" in refusal(accept("node Person {}"), text)

    def test_i7_hint_across_kinds(self) -> None:
        message = refusal(accept("node A {} node B {}"), 'node A {} node B {} edge E: A -> B @rename_from("A")')
        assert message.startswith("edge:E: ")
        assert "across declaration kinds" in message

    def test_hint_prefers_its_own_kind(self) -> None:
        ir = accept("node A {} edge A: A -> A", 'node A {} edge B: A -> A @rename_from("A")')
        assert edge(ir, "B").type_id == 2

    def test_i8_property_hint_to_another_type(self) -> None:
        message = refusal(accept("node A { x: I32? } node B {}"), 'node A {} node B { y: I32? @rename_from("x") }')
        assert message.startswith("node:B.y: ")
        assert "only node:A.x has that name" in message
        assert "moves across stable owners" in message

    def test_property_hint_to_nothing(self) -> None:
        message = refusal(accept("node A {}"), 'node A { y: I32? @rename_from("x") }')
        assert message == 'node:A.y: @rename_from("x"): no accepted property of node:A has that name'

    def test_property_hint_of_a_new_owner(self) -> None:
        message = refusal(accept("node A { x: I32? }"), 'node A { x: I32? } node B { y: I32? @rename_from("x") }')
        assert message.startswith("node:B.y: ")
        assert "cannot import property identity" in message

    def test_one_accepted_property_cannot_become_two(self) -> None:
        accepted = accept("node A { x: I32? }")
        kept = refusal(accepted, 'node A { x: I32? y: I32? @rename_from("x") }')
        twice = refusal(accepted, 'node A { y: I32? @rename_from("x") z: I32? @rename_from("x") }')
        assert "node:A.x would be consumed by more than one declaration, the other being node:A.x" in kept
        assert twice.startswith("node:A.z: ")

    def test_property_is_renamed_together_with_its_type(self) -> None:
        ir = accept("node A { x: I32? }", 'node B @rename_from("A") { y: I32? @rename_from("x") }')
        assert (find(ir, "B").type_id, prop(ir, "B", "y").property_id) == (1, 2)

    def test_every_problem_is_reported_at_once_and_its_consequences_are_not(self) -> None:
        message = refusal(
            accept("node A { x: I32? } node B {}"),
            'node A { y: I32? @rename_from("w") } node C @rename_from("Ghost") { z: I32? @rename_from("x") }',
        )
        assert message.count("@rename_from") == 2
        assert "node:C: " in message
        assert "node:A.y: " in message

    @pytest.mark.parametrize(
        ("before", "after", "told"),
        [
            (
                "node A { x: I32 } node B { x: I32 }",
                'node A @rename_from("B") { x: I32 } node B @rename_from("A") { x: I32 }',
                "node:A from B, node:B from A: names cannot be swapped",
            ),
            (
                "node A { x: I32  y: I32 }",
                'node A { x: I32 @rename_from("y")  y: I32 @rename_from("x") }',
                "node:A.x from y, node:A.y from x: names cannot be swapped",
            ),
            (
                "node A {} edge E: A -> A {} edge F: A -> A {}",
                'node A {} edge E: A -> A @rename_from("F") {} edge F: A -> A @rename_from("E") {}',
                "edge:E from F, edge:F from E: names cannot be swapped",
            ),
            (
                "interface N { x: I32  y: I32 } node A implements N {}",
                'interface N { x: I32 @rename_from("y")  y: I32 @rename_from("x") } node A implements N {}',
                "interface:N.x from y, interface:N.y from x: names cannot be swapped",
            ),
            (
                "node A { x: I32  y: I32  z: I32 }",
                'node A { x: I32 @rename_from("y")  y: I32 @rename_from("z")  z: I32 @rename_from("x") }',
                "node:A.x from y, node:A.y from z, node:A.z from x: names cannot be swapped",
            ),
        ],
        ids=["nodes", "properties", "edges", "properties of an interface", "three in a circle"],
    )
    def test_a_swap_of_names_is_refused(self, before: str, after: str, told: str) -> None:
        """Hints on names that stand are ignored: it would be no change at all, and one that undid itself were it not."""
        with pytest.raises(SchemaIdentityError, match=re.escape(told)) as caught:
            resolve(shape(after), accept(before), domain=DOMAIN)
        assert "one thing at a time" in str(caught.value.hint)
        assert str(caught.value).count("swapped") == 1

    def test_a_chain_of_names_is_refused_and_done_step_by_step(self) -> None:
        message = refusal(accept("node A { x: I32? y: I32? }"), 'node A { y: I32? @rename_from("x")  z: I32? @rename_from("y") }')
        assert "node:A.z" in message
        assert "more than one declaration" in message
        ir = accept(
            "node A { x: I32? y: I32? }",
            'node A { x: I32?  z: I32? @rename_from("y") }',
            'node A { y: I32? @rename_from("x")  z: I32? @rename_from("y") }',
        )
        assert (prop(ir, "A", "y").property_id, prop(ir, "A", "z").property_id) == (2, 3)

    def test_hints_that_history_leaves_behind_are_no_circle(self) -> None:
        """A name given to something new after it was freed, and a hint that names its own declaration."""
        for text in (
            'node A { x: I32?  y: I32? @rename_from("x") }',
            'node A { x: I32? @rename_from("x") }',
            'node A { x: I32? @rename_from("y")  y: I32? @rename_from("z")  z: I32? }',
        ):
            accepted = accept(re.sub(r' @rename_from\("."\)', "", text))
            assert resolve(shape(text), accepted, domain=DOMAIN).ir == accepted

    def test_i9_embed_follows_its_renamed_source(self) -> None:
        before = "node D { body: String v: Vector(3)? @embed(body) }"
        after = 'node D { text: String @rename_from("body") v: Vector(3)? @embed(text) }'
        ir = accept(before, after)
        embed = prop(ir, "D", "v").embed
        assert embed is not None
        assert (embed.source.property_id, embed.source.name) == (prop(accept(before), "D", "body").property_id, "text")
        assert [step.to_json()["kind"] for step in plan(accept(before), ir).steps] == ["rename_property"]

    def test_i10_composite_key_keeps_its_order_when_a_column_is_renamed(self) -> None:
        before = "node T { tenant: String number: I32 @key(tenant, number) }"
        after = 'node T { aaa: String @rename_from("tenant") number: I32 @key(aaa, number) }'

        def key_columns(ir: SchemaIR) -> list[str]:
            (key,) = (c for c in node(ir, "T").constraints if isinstance(c, KeyIR))
            return [field.name for field in key.fields]

        assert key_columns(accept(before)) == ["number", "tenant"]
        assert key_columns(accept(before, after)) == ["number", "aaa"]
        assert shape_of(accept(before, after)) == shape(after)

    def test_injected_property_follows_the_rename_of_its_interface_property(self) -> None:
        before = "interface N { name: String @index } node P implements N {}"
        after = 'interface N { label: String @index @rename_from("name") } node P implements N {} node Q implements N {}'
        first, second = accept(before), accept(before, after)
        assert prop(second, "N", "label").property_id == prop(first, "N", "name").property_id
        assert prop(second, "P", "label").property_id == prop(first, "P", "name").property_id
        assert prop(second, "Q", "label").property_id >= first.next_id

    def test_property_left_to_a_renamed_interface_property_is_still_the_same_one(self) -> None:
        before = "interface N { name: String? } node P implements N { name: String? }"
        after = 'interface N { label: String? @rename_from("name") } node P implements N {}'
        first, second = accept(before), accept(before, after)
        assert prop(second, "P", "label").property_id == prop(first, "P", "name").property_id
        assert not plan(first, second).supported  # or the values of `name` would be dropped without a word

    def test_declared_property_does_not_follow_an_interface_by_itself(self) -> None:
        before = "interface N { name: String? } node P implements N { name: String? }"
        after = 'interface N { label: String? @rename_from("name") } node P implements N { label: String? }'
        assert prop(accept(before, after), "P", "label").property_id >= accept(before).next_id


class TestNotices:
    def test_hints_of_a_first_schema_are_inert(self) -> None:
        resolution = resolve(
            shape('node A @rename_from("B") { x: I32 @rename_from("y") } edge E: A -> A @rename_from("F")'), None, domain=DOMAIN
        )
        assert [(n.code, n.entity) for n in resolution.notices] == [
            (NoticeCode.INERT_INITIALIZATION, "node:A"),
            (NoticeCode.INERT_INITIALIZATION, "node:A.x"),
            (NoticeCode.INERT_INITIALIZATION, "edge:E"),
        ]
        assert resolution.notices[0].code == "inert_initialization_rename_hint"

    def test_hint_left_in_the_file_is_ignored(self) -> None:
        after = 'node B @rename_from("A") { y: I32 @rename_from("x") }'
        accepted = accept("node A { x: I32 }", after)
        resolution = resolve(shape(after), accepted, domain=DOMAIN)
        assert resolution.ir == accepted
        assert [notice.to_json() for notice in resolution.notices] == [
            {
                "code": "ignored_exact_match_rename_hint",
                "entity": "node:B",
                "message": 'node:B: @rename_from("A") is ignored: the name is already the accepted one',
            },
            {
                "code": "ignored_exact_match_rename_hint",
                "entity": "node:B.y",
                "message": 'node:B.y: @rename_from("x") is ignored: the name is already the accepted one',
            },
        ]

    def test_successful_rename_needs_no_notice(self) -> None:
        accepted = accept("node A {}")
        assert resolve(shape('node B @rename_from("A") {}'), accepted, domain=DOMAIN).notices == ()

    def test_notice_is_a_value(self) -> None:
        assert Notice(NoticeCode.IGNORED_EXACT_MATCH, "node:A", "m") == Notice(NoticeCode.IGNORED_EXACT_MATCH, "node:A", "m")


class TestLaws:
    @settings(max_examples=120, deadline=None)
    @given(schema_blocks())
    def test_resolving_loses_nothing_and_gives_a_sound_schema(self, blocks: Blocks) -> None:
        desired = shape(text_of(blocks))
        ir = resolve(desired, None, domain=DOMAIN).ir
        assert shape_of(ir) == desired
        assert shape_of(ir).hash() == desired.hash()
        assert list(ir_problems(ir)) == []

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_order_of_the_text_changes_nothing(self, data: st.DataObject) -> None:
        blocks = data.draw(schema_blocks())
        again = data.draw(shuffled(blocks))
        assert accept(text_of(again)).hash() == accept(text_of(blocks)).hash()

    @settings(max_examples=60, deadline=None)
    @given(schema_blocks(), schema_blocks())
    def test_what_stays_keeps_its_id_and_what_is_new_gets_a_higher_one(self, first: Blocks, second: Blocks) -> None:
        before = accept(text_of(first))
        after = resolve(shape(text_of(second)), before, domain=DOMAIN).ir
        assert list(ir_problems(after)) == []
        assert shape_of(after) == shape(text_of(second))
        old = {(t.kind, t.name): t for t in before.types}
        for type_ in after.types:
            known = old.get((type_.kind, type_.name))
            if known is None:
                assert type_.type_id >= before.next_id
                assert all(p.property_id >= before.next_id for p in type_.properties)
            else:
                assert type_.type_id == known.type_id
                ids = {p.name: p.property_id for p in known.properties}
                assert all(ids.get(p.name, p.property_id) == p.property_id for p in type_.properties)

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_renaming_with_hints_keeps_every_id(self, data: st.DataObject) -> None:
        blocks = data.draw(schema_blocks().filter(lambda found: any(b.kind == "node" for b in found)))
        target = data.draw(st.sampled_from([b for b in blocks if b.kind == "node"]))
        own = [m.name for m in target.members if m.name in ("one", "two", "three", "four")]
        renamed = with_node_renamed(blocks, target.name, "Yak")
        for name in own:
            renamed = tuple(b.with_property_renamed(name, f"new_{name}") if b.name == "Yak" else b for b in renamed)
        before, after = accept(text_of(blocks)), accept(text_of(blocks), text_of(renamed))
        old, new = node(before, target.name), node(after, "Yak")
        assert (new.type_id, new.incarnation, after.next_id) == (old.type_id, old.incarnation, before.next_id)
        ids = {p.name: p.property_id for p in old.properties}
        assert {p.name: p.property_id for p in new.properties} == {f"new_{n}" if n in own else n: i for n, i in ids.items()}
        kinds = [step.to_json()["kind"] for step in plan(before, after).steps]
        assert kinds == ["rename_type", *["rename_property"] * len(own)]
