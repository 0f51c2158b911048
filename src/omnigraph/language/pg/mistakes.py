"""What people write in `.pg` out of habit. `omnigraph.language.mistakes` says how a mistake is known."""

from __future__ import annotations

from omnigraph.language.cursor import IDENT, TYPE
from omnigraph.language.mistakes import MISTAKES_ANYWHERE, TYPE_MISTAKES, Mistake
from omnigraph.language.pg.grammar import ENUM_VALUE

_ONE_ARGUMENT = 'an annotation takes one plain argument, further ones are `name="value"`'
_NO_DEFAULT = "there are no default values: leave the property nullable (`?`) or set it when inserting"
_CONSTRAINT = r"@(?:key|unique|index|range|check)\s*\("

_DECLARATIONS = (
    Mistake(r"query\b", "queries belong in a `.gq` file", expecting="`node`"),
    Mistake(r"implements\b", "interfaces do not extend each other", r"\binterface\s+\w+"),
    Mistake(r"@", "an interface has no annotations; its properties may have some", r"\binterface\s+\w+"),
    Mistake(
        _CONSTRAINT,
        "interfaces hold properties only: leave out the parentheses, or put the constraint into the nodes",
        r"\binterface\b[^{}]*\{[^{}]*",
    ),
    Mistake(r"(?:extends|is)\b|:|<", "write `implements` and the interface", r"\bnode\s+\w+"),
    Mistake(r"@", "annotations come before `implements`", r"\bimplements\s+[\w\s,]+"),
    Mistake(r"implements\b", "`implements` stands only once, with commas between the interfaces"),
    Mistake(r"\w|&|\+", "interfaces are separated by commas", r"\bimplements\s+[\w\s,]+", expecting="`,`"),
    Mistake(r"\(", "properties stand in braces: node «name» { … }", r"\bnode\s+(?P<name>\w+)"),
    Mistake(r"", "an edge is written `edge «name»: From -> To`", r"\bedge\s+(?P<name>[A-Z]\w*)", expecting="`:`"),
    Mistake(r"", "an edge points with `->`: «from» -> To", r"\bedge\s+\w+\s*:\s*(?P<from>\w+)", expecting="`->`"),
    Mistake(r"[|,]", "an edge type has one source and one target: declare one for each pair", expecting="`@card`"),
    Mistake(
        r"[a-z]\w*", "type names start with a capital letter", r"(?:\b(?:node|edge|interface|implements)|->|\bedge\s+\w+\s*:)"
    ),
    Mistake(r"\.\.", "`@card` comes first, right after the target type", r"@card\s*\(\s*[0-9]+"),
)

_ANNOTATIONS = (
    Mistake(r"", f"{_ONE_ARGUMENT}; `@embed` has one source property", r"@embed\s*\([^()]*", expecting="`=`"),
    Mistake(r"", f"{_ONE_ARGUMENT}; an enum is a type: `status: enum(open, done)`", r"@enum\s*\([^()]*", expecting="`=`"),
    Mistake(r"", _ONE_ARGUMENT, r"@\w+\s*\([^()]*", expecting="`=`"),
    Mistake(r'["0-9]', _ONE_ARGUMENT, r"@\w+\s*\([^()]*,", expecting=IDENT.expected),
    Mistake(r"=", "the plain argument comes first: `@«name»(…, «key»=…)`", r"@(?P<name>\w+)\s*\(\s*(?P<key>\w+)"),
    Mistake(r"\w", "arguments are separated by commas", _CONSTRAINT + r"[^()]*", expecting="`)`"),
    Mistake(r"\w", 'text stands in double quotes: `@«name»("…")`', r"@(?P<name>\w+)\s*\([^()]*", expecting="`)`"),
    Mistake(r"@(?:src|dst|from|to)\b", "endpoints are `src` and `dst` without `@`", r"@\w+\s*\([^()]*"),
    Mistake(r"@\w", "properties are named without `@`", r"@\w+\s*\([^()]*"),
    Mistake(_CONSTRAINT, "this constraint belongs inside the braces"),
    Mistake(r"\)", "give the argument between the parentheses, or leave them out", r"@\w+\s*\("),
    Mistake(r"[:=]", "an annotation takes its argument in parentheses, or none", r"@\w+"),
)

_PROPERTIES = (
    Mistake(r'"', "enum values are written without quotes: enum(open, done)", expecting=ENUM_VALUE.expected),
    Mistake(r"\)", "leave out the last comma", r",", expecting=ENUM_VALUE.expected),
    Mistake(r"", "enum values stand in parentheses: enum(open, done)", r":\s*enum", expecting="`(`"),
    Mistake(r"[\w|/]", "enum values are single words with commas between: enum(open, in-progress)", r"\benum\s*\([^()]*"),
    Mistake(r"null\b", "a property without `?` is required already", r"\bnot"),
    Mistake(r"", "a property without `?` is required already", r"\brequired", expecting="`:`"),
    Mistake(r"", "`?` after the type makes a property nullable", r"\b(?:nullable|optional)", expecting="`:`"),
    Mistake(r"", _NO_DEFAULT, r"\bdefault", expecting="`:`"),
    Mistake(r"", "annotations start with `@`", r"\b(?:key|unique|index|embed)", expecting="`:`"),
    Mistake(r",", "properties are separated by white space only: leave out the comma"),
    Mistake(r"=", _NO_DEFAULT),
    Mistake(r"!", "a property without `?` is required already"),
    Mistake(r"(?P<type>\[?[A-Z]\w*\]?)", "write `«name»: «type»`", r"\b(?P<name>[a-z_]\w*)", expecting="`:`"),
    *TYPE_MISTAKES,
    Mistake(r"[A-Z]\w*", "properties hold values; a link to another node is an edge type", r":\s*\[", expecting=TYPE),
    Mistake(r"(?i:json|map|dict|object|any)\b", "values do not nest: use a String, or a node type of its own", expecting=TYPE),
    Mistake(
        r"\w+",
        "the property types are String Bool I32 I64 U32 U64 F32 F64 Date DateTime Blob Vector(n) enum(…) [T]",
        expecting=TYPE,
    ),
)

SCHEMA_MISTAKES = (*MISTAKES_ANYWHERE, *_DECLARATIONS, *_ANNOTATIONS, *_PROPERTIES)
