"""The canonical layout of queries, and where their comments go."""

from __future__ import annotations

import pytest
from tests.language.formatting import body, clauses, queries

from omnigraph.language import layout

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
