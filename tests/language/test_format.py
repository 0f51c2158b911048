"""The canonical layout of both languages, and where comments go. `test_fuzz` has the laws; here is what it looks like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.errors import ParseError
from omnigraph.language import Source, layout, parse_queries, parse_schema
from omnigraph.language.gq import tree as q
from omnigraph.language.gq.format import format_queries, render_queries
from omnigraph.language.pg import tree as p
from omnigraph.language.pg.format import format_schema, render_schema
from omnigraph.model.types import PropertyType, Scalar

EXAMPLES = Path(__file__).parents[2] / "examples"


def schema(text: str) -> str:
    """The formatted text, after checking that formatting it again changes nothing and that it says the same."""
    formatted = format_schema(Source(text))
    assert format_schema(Source(formatted)) == formatted
    assert parse_schema(Source(formatted)) == parse_schema(Source(text))
    return formatted


def queries(text: str) -> str:
    """The same for queries."""
    formatted = format_queries(Source(text))
    assert format_queries(Source(formatted)) == formatted
    assert parse_queries(Source(formatted)) == parse_queries(Source(text))
    return formatted


def clauses(text: str) -> str:
    """The formatted clauses of a match block, without their indentation."""
    formatted = queries(f"query q() {{ match {{ {text} }} return {{ $a }} }}").splitlines()
    return "\n".join(line[8:] for line in formatted[2 : formatted.index("    }")])


def body(text: str) -> str:
    """The formatted body of a query, without its indentation."""
    return "\n".join(line[4:] for line in queries(f"query q() {{ {text} }}").splitlines()[1:-1])


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

CANONICAL = """\
query friends($name: String, $limit: I32?)
    @description("…")
{
    match {
        $p: Person { name: $name }
        $p knows{1,2} $f
        not { $f worksAt $_ }
    }
    return { $p.name, $f.age as age }
    order { $f.age desc, age }
    limit 10 offset 5
}

query rename($name: String, $new: String) {
    insert Person { name: $name, age: -1.50, at: now() }
    update Person set { name: $new } where name = $name
    delete Person where name = $name
}
"""


def test_canonical_queries_stay_as_they_are() -> None:
    assert queries(CANONICAL) == CANONICAL


def test_queries_written_tightly_come_out_canonical() -> None:
    text = """query friends($name:String,$limit:I32 ?)@description("…"){match{$p:Person{name:$name,}$p knows{1,2}$f
    not{$f worksAt$_}}return{$p.name $f.age asage}order{$f.age desc,age}limit 10offset 5}queryrename($name:String,$new:String){
    insertPerson{name:$name age:-1.50,at:now(),}update Person set{name:$new}where name=$name deletePerson where name=$name}"""
    assert queries(text) == CANONICAL


@pytest.mark.parametrize(
    "clause",
    [
        "$a: A",
        '$a: A { b: 1, c: "x", d: $e, f: [1, -2.50, date("2024-01-01")] }',
        "$a $w:knows{1,2} $b",
        "$a <knows> $b",
        "$a $w:<knows>{1,} $b",
        "$a.x = 1 and $a.y != 2 or $a.z in [1, 2]",
        "($a.x = 1 or $a.y = 2) and $a.z is not null",
        "($a.x = 1 and $a.y = 2) and $a.z is null",
        "$a.x = 1 or ($a.y = 2 or $a.z = 3)",
        'search($a.b, "x") and fuzzy($a.b, $q, 2)',
        "($a contains $b)",
        "($a in $b.c) and $a.x = 1",
        "$a in [1, 2]",
        '$a contains "x"',
        "(search($a.b, c)) or x = y",
        "optional { not { $a: A { b: 1 } } }",
        'match_text($a.b, datetime("x")) = true',
    ],
)
def test_a_canonical_clause_stays_as_it_is(clause: str) -> None:
    assert clauses(clause) == clause


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("($a.x = 1)", "$a.x = 1"),
        ("(($a.x = 1 and ($a.y = 2)))", "$a.x = 1 and $a.y = 2"),
        ("$a.x = 1 or ($a.y = 2 and $a.z = 3)", "$a.x = 1 or $a.y = 2 and $a.z = 3"),
        ("(($a contains $b))", "($a contains $b)"),
        ("(search($a.b, $c)) $a.x = 1", "search($a.b, $c)\n$a.x = 1"),
        ("(search($a.b, $c)) contains_x = 3", "(search($a.b, $c))\ncontains_x = 3"),
        ("($a.x = count) ($b in $c)", "($a.x = count)\n($b in $c)"),
        ("$a.x = 007", "$a.x = 7"),
        ("not {\n $a knows $b\n}", "not { $a knows $b }"),
        ("not { $a knows $b $b: B }", "not {\n    $a knows $b\n    $b: B\n}"),
    ],
)
def test_parentheses_and_blocks_are_the_fewest_that_say_the_same(written: str, canonical: str) -> None:
    assert clauses(written) == canonical


def test_what_does_not_fit_a_line_gets_a_line_per_item() -> None:
    long = "x" * 40
    assert (
        body(
            f'match {{ $a: A {{ b: "{long}", c: "{long}" }} not {{ $a: A {{ b: "{long}", c: "{long}" }} }} }}'
            f"return distinct {{ $a.{long}, $a.{long} as b, count(distinct $a) }} order {{ $a.{long}, $a.{long} desc }} offset 3"
        )
        == f"""\
match {{
    $a: A {{
        b: "{long}",
        c: "{long}"
    }}
    not {{
        $a: A {{
            b: "{long}",
            c: "{long}"
        }}
    }}
}}
return distinct {{
    $a.{long},
    $a.{long} as b,
    count(distinct $a)
}}
order {{
    $a.{long},
    $a.{long} desc
}}
offset 3"""
    )
    assert (
        body(f'insert A {{ b: "{long}", c: "{long}" }} update A set {{ b: "{long}", c: "{long}" }} where d = 1')
        == f"""\
insert A {{
    b: "{long}",
    c: "{long}"
}}
update A set {{
    b: "{long}",
    c: "{long}"
}} where d = 1"""
    )


def test_many_parameters_get_a_line_each() -> None:
    names = [f"$a_rather_long_name_{n}: String" for n in range(4)]
    listed = ",\n    ".join(names)
    assert (
        queries(f"query q({','.join(names)}) {{ delete A where a = 1 }}")
        == f"""\
query q(
    {listed}
) {{
    delete A where a = 1
}}
"""
    )
    assert (
        queries(f'query q({",".join(names)}) @description("d") @instruction("i") {{ delete A where a = 1 }}')
        == f"""\
query q(
    {listed}
)
    @description("d")
    @instruction("i")
{{
    delete A where a = 1
}}
"""
    )


def test_the_worked_example_of_the_layout_module_is_true() -> None:
    text = """query q() { match { $p: Person // everybody
    $p /* direct */ knows $f

    // the old
    $f.age > 60 } return { $f } }
"""
    expected = queries(text)
    shown = [line[4:] for line in (layout.__doc__ or "").split("\n")]
    assert "\n".join(shown).count(expected.rstrip("\n")) == 1
    for line in text.splitlines():
        assert any(row.startswith(line) for row in shown)


def test_comments_of_queries_keep_their_place() -> None:
    text = """// file
query q( // params
  $a: String, // first
  /* second */ $b: I32 /* of b */ ) // header
  @description("d") // why
  // brace
{ // opens
  match { // pattern
    $p: Person { name: $a, // the name
      age: $b }
    not { // never
      $p knows $_ }
    $p /* 1 */ likes /* 2 */ $x // 3

    // end of pattern
  }

  // what to show
  return { $p.name /* n */, $p.age // years
  }
  order /* o */ { $p.age }
  limit 1 // few
  offset 2
} // done
/* tail */"""
    assert (
        queries(text)
        == """\
// file
query q(  // params
    $a: String,  // first
    /* second */
    $b: I32  /* of b */
)  // header
    @description("d")  // why
// brace
{  // opens
    match {  // pattern
        $p: Person {
            name: $a,  // the name
            age: $b
        }
        not {  // never
            $p knows $_
        }
        /* 1 */
        /* 2 */
        $p likes $x  // 3

        // end of pattern
    }

    // what to show
    return {
        $p.name,  /* n */
        $p.age  // years
    }
    /* o */
    order { $p.age }
    // few
    limit 1 offset 2
}  // done
/* tail */
"""
    )


def test_comments_of_mutations_keep_their_place() -> None:
    text = """query q() {
  insert A { // new
    b: 1 // one
    c: 2, /* two */ }
  update A /* u */ set { b: 1 } where /* w */ b = 2 // updated
  update A set { b: /* one */ 1 } // set
    where b = 2
  delete A // gone
    where b = 1
}"""
    assert (
        queries(text)
        == """\
query q() {
    insert A {  // new
        b: 1,  // one
        c: 2  /* two */
    }
    /* u */
    /* w */
    update A set { b: 1 } where b = 2  // updated
    update A set {
        /* one */
        b: 1
        // set
    } where b = 2
    // gone
    delete A where b = 1
}
"""
    )


# ── nasty ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\r\n\t"])
def test_nothing_formats_to_nothing(text: str) -> None:
    assert schema(text) == ""
    assert queries(text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// only", "// only\n"),
        ("\n\n// a  \n\n\n\n/* b */ // c\n\n", "// a\n\n/* b */\n// c\n"),
        ("/* a\r\n  b \t\r\n*/", "/* a\n  b\n*/\n"),
    ],
)
def test_a_file_of_comments_keeps_them(text: str, expected: str) -> None:
    assert schema(text) == expected
    assert queries(text) == expected


def test_windows_line_ends_and_tabs_become_plain_ones() -> None:
    assert schema("// a\t\r\nnode A {\r\n\ta: String // b\r\n\r\n\r\n\tb: String\r\n}\r\n") == (
        "// a\nnode A {\n    a: String  // b\n\n    b: String\n}\n"
    )


EVERY_TOKEN = (
    'query q ( $a : [ I32 ] ? , $b : Vector ( 3 ) ) @description ( "d" ) { match { $p : P { a : 1 , b : $b } $p $w : < knows > '
    "{ 1 , 2 } $f not { $f . x is not null } ( $p contains $f ) and $f . y in [ 1 , 2 ] } return distinct { $p . a as x , "
    "count ( distinct $f ) } order { nearest ( $p . v , $b ) , x desc } limit 1 offset 2 } query r ( ) { insert A { a : 1 , } "
    "update A set { a : now ( ) } where a = 1 delete A where a = 1 }"
)


EVERY_SCHEMA_TOKEN = (
    'interface N { a : String ? @ index } node A @ d ( "x" , k = 1 ) implements N , M { b : enum ( c , d ) ? @ index '
    "@ e ( f ) g : [ I32 ] ? h : Vector ( 3 ) @ key ( b , g ) @ range ( g , 0 .. 1 ) } "
    "edge E : A -> A @card ( 0 .. 1 ) @ d { @ unique ( src , dst ) }"
)


@pytest.mark.parametrize("comment", ["/* c */", "// c\n", "/* c\n c */", "\n\n/* c */\n\n", " // c\r\n\r\n"])
@pytest.mark.parametrize(
    ("whole", "form", "parse"),
    [(EVERY_TOKEN, queries, parse_queries), (EVERY_SCHEMA_TOKEN, schema, parse_schema)],
    ids=["queries", "schema"],
)
def test_a_comment_between_any_two_tokens_survives(
    whole: str, form: Callable[[str], str], parse: Callable[[Source], q.QueryFile | p.Schema], comment: str
) -> None:
    tokens = whole.split(" ")
    spread = [" ".join([*tokens[:at], comment, *tokens[at:]]) for at in range(len(tokens) + 1)]
    for text in (*spread, comment.join(tokens)):
        formatted = form(text)
        assert parse(Source(formatted)) == parse(Source(whole))
        assert [c.text for c in layout.find_comments(formatted)] == [c.text for c in layout.find_comments(text)]


def test_a_text_that_cannot_be_read_is_not_formatted() -> None:
    with pytest.raises(ParseError):
        format_schema(Source("node person {}"))
    with pytest.raises(ParseError):
        format_queries(Source("query q() {}"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.[pg][gq]")), ids=lambda path: path.name)
def test_the_examples_keep_their_meaning_and_comments(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    formatted = schema(text) if path.suffix == ".pg" else queries(text)
    assert [c.text for c in layout.find_comments(formatted)] == [c.text for c in layout.find_comments(text)]


# ── trees without a text ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tree_built_by_a_program_gets_the_same_layout() -> None:
    status = PropertyType(Scalar.STRING, enum_values=("a", "b"))
    members = (
        p.Property(p.Name("status"), status, (p.Annotation(p.Name("description"), p.Literal(p.LiteralKind.STRING, 'a "b"\n')),)),
        p.Constraint(p.ConstraintKind.RANGE, (p.Literal(p.LiteralKind.NAME, "x"), p.Range(1e-7, 1e21))),
    )
    node = p.Node(p.Name("A"), (), (), p.Body(members))
    edge = p.Edge(p.Name("B"), p.Name("A"), p.Name("A"), None, (), None)
    assert (
        render_schema(p.Schema((edge, edge, node)))
        == r"""edge B: A -> A
edge B: A -> A

node A {
    status: enum(a, b) @description("a \"b\"\n")
    @range(x, 0.0000001..1000000000000000000000.0)
}
"""
    )
    read = q.Read(
        q.Block((q.Binding(q.Variable("a"), p.Name("A")),)), (q.Projection(q.Float(-2.0)), q.Projection(q.String("x\t")))
    )
    query = q.Query(p.Name("q"), (), (), read)
    assert (
        render_queries(q.QueryFile((query,)))
        == r"""query q() {
    match {
        $a: A
    }
    return { -2.0, "x\t" }
}
"""
    )


def test_rendering_ignores_the_text_a_tree_came_from() -> None:
    text = "// comment\nnode A {\n\n    a: enum(z, a)\n\n    b: String\n}\n"
    assert render_schema(parse_schema(Source(text))) == "node A {\n    a: enum(z, a)\n    b: String\n}\n"
