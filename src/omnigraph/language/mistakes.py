"""What people write out of habit from other languages, and what to write here instead.

A syntax error says what was expected; that alone seldom tells somebody who wrote `==` or `'text'` why. Each language lists its
common mistakes as patterns tried at (or just before) the place where reading got stuck; the first that fits adds its advice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """A pattern at the stuck place, optionally with what stands just before it, and the advice."""

    here: re.Pattern[str]
    advice: str
    before: re.Pattern[str] | None = None


def mistake(here: str, advice: str, before: str | None = None) -> Mistake:
    """A mistake from its patterns as text."""
    return Mistake(re.compile(here), advice, re.compile(before + r"\s*\Z") if before is not None else None)


def advice(mistakes: tuple[Mistake, ...], text: str, stuck: int, item_start: int) -> str:
    """Advice for a text that could not be read beyond `stuck`, or nothing."""
    window = text[max(item_start, stuck - 200) : stuck]
    for known in mistakes:
        if known.here.match(text, stuck) and (known.before is None or known.before.search(window)):
            return known.advice
    return ""


_AFTER_COLON = r":\s*\[?"
_TYPE_HABITS = (
    mistake(r"(?i:str|string|text|varchar|char)\b", "write `String`", _AFTER_COLON),
    mistake(r"(?i:int|integer|long|number|bigint)\b", "write `I32` or `I64` (or `U32`, `U64` without a sign)", _AFTER_COLON),
    mistake(r"(?i:float|double|decimal|real)\b", "write `F64` (or `F32`)", _AFTER_COLON),
    mistake(r"(?i:bool|boolean)\b", "write `Bool`", _AFTER_COLON),
    mistake(r"(?i:date_?time|timestamp)\b", "write `DateTime`", _AFTER_COLON),
    mistake(r"(?i:date)\b", "write `Date`", _AFTER_COLON),
    mistake(r"(?i:bytes|binary|blob)\b", "write `Blob`", _AFTER_COLON),
    mistake(r"(?i:vector|embedding)\b", "write `Vector(n)` with the number of dimensions", _AFTER_COLON),
)
_ANYWHERE = (
    mistake(r";", "nothing ends with `;` here: leave it out"),
    mistake(r"'", 'strings stand in double quotes: "like this"'),
    mistake(r"#|--", "comments start with `//`"),
    mistake(r"\ufeff", "the text starts with a byte order mark: save it as UTF-8 without one"),
)

SCHEMA_MISTAKES = (
    *_ANYWHERE,
    mistake(r",", "properties are separated by white space only: leave out the comma"),
    mistake(r'"', "enum values are written without quotes: enum(open, done)", r"(?:enum\s*\(|,)"),
    mistake(r"=>|-->", "an edge points with `->`"),
    mistake(
        r"[a-z]\w*", "type names start with a capital letter", r"(?:\b(?:node|edge|interface|implements)|->|\bedge\s+\w+\s*:)"
    ),
    *_TYPE_HABITS,
    mistake(r"[A-Z]\w*", "properties hold values; a link to another node is an edge type", r":\s*\["),
    mistake(
        r"\w+",
        "the property types are String Bool I32 I64 U32 U64 F32 F64 Date DateTime Blob Vector(n) enum(…) [T]",
        r":",
    ),
    mistake(r"", "annotations start with `@`", r"\b(?:key|unique|index|embed|nullable|required)"),
    mistake(r"\.\.", "`@card` comes first, right after the target type", r"@card\s*\(\s*[0-9]+"),
    mistake(r"implements\b", "`implements` comes after the annotations and only once"),
    mistake(r"@(?:key|unique|index|range|check)\s*\(", "this constraint belongs inside the braces"),
    mistake(r"=", "there are no default values: leave the property nullable (`?`) or set it when inserting"),
    mistake(r"\)", "give the argument between the parentheses, or leave them out", r"\("),
    mistake(r"!", "a property without `?` is required already"),
)

QUERY_MISTAKES = (
    *_ANYWHERE,
    mistake(r"=", "equality is a single `=`", r"="),
    mistake(r">", "write `!=` for unequal", r"<"),
    mistake(r"&&", "write `and`"),
    mistake(r"\|\|", "write `or`"),
    mistake(r"\(", "patterns stand in braces: match { $p: Person }", r"\bmatch"),
    mistake(r"[a-z<]", "`and` and `or` join conditions; a traversal is a clause of its own", r"\b(?:and|or)\s+\$\w+"),
    mistake(r"\}", "leave out empty braces: `$d: Doc` binds every Doc", r"\{"),
    mistake(r"\}", "hop bounds are written {min,max}, for example {1,3}", r"\{\s*[0-9]+"),
    mistake(r"\$|\(", "write `not { … }` around the pattern", r"\bnot"),
    mistake(r"\$", "conditions stand by themselves in the match block: leave out `where`", r"\b(?:where|filter)"),
    mistake(r"(?:->|<-|-\[|-)", "edges are written by name: `$a knows $b`, or `$a <knows> $b` for either direction"),
    mistake(
        r"\.",
        "after a bare variable `contains` and `starts_with` are read as edge names: put a property or literal on the left",
        r"\$\w+\s+(?:contains|starts_with|\w+)\s+\$\w+",
    ),
    mistake(r"\.", "variables start with `$`", r"(?<![$\w])[a-z_]\w*"),
    mistake(r"\*", "count a variable: count($p)", r"\bcount\s*\("),
    mistake(r"\*", "there is no `*`: list the properties, `$p` returns the id"),
    mistake(r"[A-Z]{2,}\b", "keywords are written in small letters"),
    mistake(r"[A-Z]\w*", "edge names start with a small letter in queries: `worksAt` for edge `WorksAt`", r"\$\w+"),
    mistake(r"desc\b|asc\b", "`nearest` orders by distance and takes no direction", r"\)"),
    mistake(r"ending\b", "write `asc` or `desc`", r"(?:asc|desc)"),
    mistake(r"(?:limit|order)\b", "the order is: match, return, order, limit, offset"),
    mistake(r"skip\b", "write `offset`, after `limit`"),
    mistake(r"where\b|filter\b", "conditions stand inside `match { }`"),
    mistake(r"null\b", "write `is null` or `is not null`; to leave a property empty, leave it out or pass a nullable parameter"),
    mistake(r"enum\b", "parameters have no enum type: use String"),
    *_TYPE_HABITS,
    mistake(r"=", "parameters have no default value: make it nullable (`?`)", r"\$\w+\s*:\s*[\w()\[\]]+\s*\??"),
    mistake(r"=", "inside braces write `property: value`", r"\w"),
    mistake(r",", "clauses are separated by white space only: leave out the comma"),
    mistake(r"\w", "write `property: value`, with a colon", r"[{,]\s*\w+"),
)
