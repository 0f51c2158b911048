"""The canonical layout of schemas, and where their comments go."""

from __future__ import annotations

import pytest
from tests.language.formatting import schema

from omnigraph.language import Source, layout, parse_schema
from omnigraph.language.pg.format import render_schema


def test_a_schema_is_laid_out_one_member_per_line() -> None:
    text = """
interface Named{name:String@index}
nodePerson @description( "somebody" )implements Named , Aged{slug:String@key age:I32 ? tags:[ String ]?
status:enum( open,in-progress )? v:Vector( 8 ) @embed( slug,model = "m" )
@key( a,b ) @range(age,0 .. 150) @range(p,-1.50 ..)@check( slug,"^[a-z]+$" )}
edge Knows:Person->Person@card( 0 .. 1 )@description("d"){since:Date}
edge Likes:Person->Tag
edge At:Person->Place@card(1..)
node Tag{
}"""
    assert (
        schema(text)
        == """\
interface Named {
    name: String @index
}

node Person @description("somebody") implements Named, Aged {
    slug: String @key
    age: I32?
    tags: [String]?
    status: enum(open, in-progress)?
    v: Vector(8) @embed(slug, model="m")
    @key(a, b)
    @range(age, 0..150)
    @range(p, -1.50..)
    @check(slug, "^[a-z]+$")
}

edge Knows: Person -> Person @card(0..1) @description("d") {
    since: Date
}

edge Likes: Person -> Tag
edge At: Person -> Place @card(1..)

node Tag {}
"""
    )


def test_a_wide_declaration_gets_a_line_per_annotation() -> None:
    long = "x" * 60
    assert (
        schema(f'node Person @description("{long}") @instruction("{long}") implements Named, Aged {{ a: String }}')
        == f"""\
node Person
    @description("{long}")
    @instruction("{long}")
    implements Named, Aged
{{
    a: String
}}
"""
    )
    assert (
        schema(f'edge A: B -> C @card(0..1) @description("{long}") @instruction("{long}")')
        == f"""\
edge A: B -> C @card(0..1)
    @description("{long}")
    @instruction("{long}")
"""
    )
    assert (
        schema(f'node A @description("{long}") @instruction("{long}") {{}}')
        == f"""\
node A
    @description("{long}")
    @instruction("{long}")
{{}}
"""
    )


def test_a_declaration_of_exactly_the_width_stays_on_one_line() -> None:
    fits = "x" * (layout.WIDTH - len('node A @d("") {}'))
    assert schema(f'node A @d("{fits}") {{}}').count("\n") == 1
    assert schema(f'node A @d("{fits}x") {{}}').count("\n") == 3


def test_blank_lines_group_members_but_never_pile_up() -> None:
    assert (
        schema("node A {\n\n\n  a: String\n\n\n\n  b: String\n  c: String\n\n}\n\n\n\nedge B: A -> A\n\n\nedge C: A -> A\n\n")
        == """\
node A {
    a: String

    b: String
    c: String
}

edge B: A -> A

edge C: A -> A
"""
    )


def test_comments_of_a_schema_keep_their_place() -> None:
    text = """// head

// about A
node A { // opens
// first
a: String // of a
/* b1 */ /* b2 */ b: /* inside b */ String

    // last
} // of A
edge B: A -> A // of B
// of C
edge C: A /* inside C */ -> A
/* a block
     of lines */
node D { /* empty */ }
node E { // empty
}
// the end"""
    assert (
        schema(text)
        == """\
// head

// about A
node A {  // opens
    // first
    a: String  // of a
    /* b1 */
    /* b2 */
    /* inside b */
    b: String

    // last
}  // of A

edge B: A -> A  // of B
// of C
/* inside C */
edge C: A -> A

/* a block
     of lines */
node D {
    /* empty */
}

node E {  // empty
}
// the end
"""
    )


def test_comments_in_a_wide_declaration_stay_with_their_annotation() -> None:
    long = "x" * 60
    assert (
        schema(f'node A // name\n @a("{long}") // first\n /* second */ @b("{long}") implements // what\n B {{ }}')
        == f"""\
node A  // name
    @a("{long}")  // first
    /* second */
    @b("{long}")  // what
    implements B
{{}}
"""
    )


def test_slashes_and_quotes_inside_strings_and_comments_mislead_nobody() -> None:
    text = 'node A @description("// no /* comment") { // a "quote\n a: String // and "another\n}\n'
    assert schema(text) == 'node A @description("// no /* comment") {  // a "quote\n    a: String  // and "another\n}\n'


VALUES = [f"one-of-many-values-{n}" for n in range(5)]


@pytest.mark.parametrize("ending", ["", "?", " @index", '? @index @description("d")'])
def test_an_enum_too_wide_for_a_line_gets_a_line_per_value(ending: str) -> None:
    listed = ",\n        ".join(VALUES)
    wide = f"node A {{ kind: enum({','.join(VALUES)}){ending} next: String }}"
    assert schema(wide) == f"node A {{\n    kind: enum(\n        {listed}\n    ){ending}\n    next: String\n}}\n"
    assert render_schema(parse_schema(Source(wide))) == schema(wide)


def test_an_enum_of_exactly_the_width_stays_on_one_line() -> None:
    fits = "x" * (layout.WIDTH - layout.INDENT - len("a: enum(b, )? @index"))
    assert schema(f"node A {{ a: enum(b, {fits})? @index }}").count("\n") == 3
    assert schema(f"node A {{ a: enum(b, {fits}x)? @index }}").count("\n") == 6


def test_an_enum_is_not_to_blame_for_a_wide_annotation() -> None:
    long = "x" * 100
    for ending in (f'@description("{long}")', '@description("two\nlines")'):
        assert schema(f"node A {{ a: enum(b, c) {ending} }}") == f"node A {{\n    a: enum(b, c) {ending}\n}}\n"
    both = schema(f'node A {{ a: enum({",".join(VALUES)}) @description("{long}") }}')
    assert f'\n    ) @description("{long}")\n' in both


def test_comments_in_an_enum_stay_with_their_value() -> None:
    text = """node A {
    kind: enum( // opens
        note, // of note
        /* of spec */ spec /* important */, other /* of other */, // also of other

        // apart
        last) /* of the type */ @index // of kind
    one: enum(a, b /* of b */)?
    // of two
    two: enum /* in two */ (a, b)
    three: enum(a, b) // of three
}"""
    assert (
        schema(text)
        == """\
node A {
    kind: enum(  // opens
        note,  // of note
        /* of spec */
        spec,  /* important */
        other,  /* of other */  // also of other

        // apart
        last
        /* of the type */
    ) @index  // of kind
    one: enum(
        a,
        b  /* of b */
    )?
    // of two
    /* in two */
    two: enum(a, b)
    three: enum(a, b)  // of three
}
"""
    )


def test_literals_and_enum_values_stay_as_written() -> None:
    text = 'node A @a("tab\\tq\\"") @b(007) @c(1.50) {\n    a: enum(z, a, M)\n    @range(a, 00..1.500)\n}\n'
    assert schema(text) == text


def test_a_string_over_several_lines_stays_as_it_is() -> None:
    text = 'node A @description("one\n  two  \r\n\n\nthree") { a: String }'
    assert schema(text) == 'node A\n    @description("one\n  two  \r\n\n\nthree")\n{\n    a: String\n}\n'
