"""What people write in `.gq` out of habit. `omnigraph.language.mistakes` says how a mistake is known."""

from __future__ import annotations

from omnigraph.language.cursor import IDENT, TYPE, TYPE_NAME
from omnigraph.language.gq.expressions import VALUE, VARIABLE
from omnigraph.language.gq.grammar import ANNOTATION, EDGE_NAME
from omnigraph.language.mistakes import MISTAKES_ANYWHERE, TYPE_MISTAKES, Mistake

_VALUES = "a literal, a parameter or `now()`"
_CONDITIONS = "conditions are joined with `and` and `or`: `where slug = $slug and age > 3`"
_READ_OR_CHANGE = "a query reads or changes the graph, not both; a mutation has no `return`"
_ANNOTATIONS = 'annotations stand after the parameter list: query q() @description("…") { … }'

_HEADER = (
    Mistake(r"@", _ANNOTATIONS, expecting="`query`"),
    Mistake(r"@(?:description|instruction)\b", _ANNOTATIONS),
    Mistake(r"@", "a query has no annotations but `@description` and `@instruction`", expecting=ANNOTATION.expected),
    Mistake(r"(?:node|edge|interface)\b", "declarations belong in a `.pg` file", expecting="`query`"),
    Mistake(r"(?:mutation|function|func|fn|def)\b", "write `query`, for mutations too", expecting="`query`"),
    Mistake(r"[A-Z]", "the name of a query starts with a small letter", r"\bquery", expecting=IDENT.expected),
    Mistake(r"-", "a name has no `-`: use `_`", r"\bquery\s+\w+"),
    Mistake(r"\{", "the parameter list stays when it is empty: query «name»() { … }", r"\bquery\s+(?P<name>\w+)"),
    Mistake(r"(?P<name>[a-z_]\w*)", "parameters are written `$«name»`", r"[(,]", expecting=VARIABLE.expected),
    Mistake(r"[A-Z]\w*\s+\$?(?P<name>\w+)", "parameters are written `$«name»: Type`", r"[(,]", expecting=VARIABLE.expected),
    Mistake(r"\)", "leave out the last comma", r",", expecting=VARIABLE.expected),
    Mistake(r"=", "parameters have no default value: make it nullable (`?`)", r"[(,]\s*\$\w+\s*:\s*[\w()\[\]]+\s*\??"),
    Mistake(r"!", "a parameter without `?` is required already", r"[(,]\s*\$\w+\s*:\s*[\w()\[\]]+"),
    Mistake(r"enum\b", "parameters have no enum type: use String", expecting=TYPE),
    *TYPE_MISTAKES,
    Mistake(r"\w+", "the parameter types are String Bool I32 I64 U32 U64 F32 F64 Date DateTime Vector(n) [T]", expecting=TYPE),
)

_MUTATIONS = (
    Mistake(r"&&|\|\||,", _CONDITIONS, r"\bwhere\b[^{}]*", expecting="`insert`"),
    Mistake(r"", "say which ones: `where slug = $slug`", expecting="`where`"),
    Mistake(r"", "write `update «type» set { property: value } where …`", r"\bupdate\s+(?P<type>\w+)", expecting="`set`"),
    Mistake(r"", "write `set { property: value }`", r"\bset", expecting="`{`"),
    Mistake(
        r"\$",
        "name the type: `delete Knows where from = $slug`; what a variable stands for is found by `match { … }` before",
        r"\bdelete",
        expecting=TYPE_NAME.expected,
    ),
    Mistake(
        r"\$",
        "name the type: `insert Person { … }`; edges too: `insert Knows { from: $a, to: $b }`",
        r"\binsert",
        expecting=TYPE_NAME.expected,
    ),
    Mistake(r"\$", "name the type: `update Person set { … } where slug = $slug`", r"\bupdate", expecting=TYPE_NAME.expected),
    Mistake(
        r"(?P<word>into|from|node|edge)\s",
        "leave out `«word»`: the name of the type follows",
        r"\b(?:insert|update|delete)",
        expecting=TYPE_NAME.expected,
    ),
    Mistake(
        r"[a-z]",
        "a mutation names types and edges as they are declared, with a capital letter",
        r"\b(?:insert|update|delete)",
        expecting=TYPE_NAME.expected,
    ),
    Mistake(
        r"(?:upsert|create|merge|add|put|save)\b",
        "write `insert`: a row with the same key is replaced",
        expecting="`insert`",
    ),
    Mistake(r"(?:remove|drop)\b", "write `delete`", expecting="`insert`"),
    Mistake(r"return\b|not\b|optional\b|\$", "a read starts with `match { … }`", expecting="`match`"),
    Mistake(r"return\b", _READ_OR_CHANGE, expecting="`insert`"),
    Mistake(
        r"[A-Z]\w*",
        "after `match { … }` name one of its variables: `delete $p`, `update $p set { … }`",
        r"\b(?:update|delete)",
        expecting=VARIABLE.expected,
    ),
)

_READ = (
    Mistake(r"\(", "patterns stand in braces: match { $p: Person }", r"\bmatch"),
    Mistake(r"match\b", "a query has one match block: put all clauses into it", expecting="`return`"),
    Mistake(r"(?P<word>not|optional)\b", "`«word» { … }` stands inside the match block", expecting="`return`"),
    Mistake(r"with\b", "there is no `with`: one match block, one return", expecting="`return`"),
    Mistake(r"\}", "a read ends with `return { … }`", expecting="`return`"),
    Mistake(r"[$\w]", "what is returned stands in braces: return { $p.name }", r"\breturn", expecting="`{`"),
    Mistake(r"(?:return|match)\b", "a query has one match block and one return", expecting="`order`"),
    Mistake(r"group\b", "there is no `group`: aggregates are grouped by the other columns", expecting="`order`"),
    Mistake(r"by\b", "write `order { $p.name desc }`", r"\border"),
    Mistake(r"desc\b|asc\b", "`nearest` orders by distance and takes no direction", r"\)"),
    Mistake(r"ending\b", "write `asc` or `desc`", r"(?:asc|desc)"),
    Mistake(r"(?:limit|order|having)\b", "the order is: match, return, having, order, limit, offset"),
    Mistake(r"skip\b", "write `offset`, after `limit`"),
    Mistake(r"(?:where|filter)\b", "conditions stand inside `match { }`, those about groups in `having { }` after `return`"),
)

_CLAUSES = (
    Mistake(r"[$({]", "conditions stand by themselves in the match block: leave out `where`", r"\b(?:where|filter)"),
    Mistake(r"[a-z<]", "`and` and `or` join conditions; a traversal is a clause of its own", r"\b(?:and|or)\s+\$\w+"),
    Mistake(r"\{", "write `optional { … }`", r"\b(?:maybe|opt|optionally|optional\s+match)"),
    Mistake(r"\{", "`and` and `or` stand between conditions: `$p.a = 1 or $p.b = 2`", r"\b(?:and|or|any|either)"),
    Mistake(r"\{", "a pattern must exist as it is: write its clauses without `exists`, or `not { … }`", r"\bexists"),
    Mistake(r"\$|\(", "write `not { … }` around the pattern", r"\bnot"),
    Mistake(
        r"\$(?P<variable>\w+)",
        "the variable of an edge stands in front of it: `«from» $«variable»:«edge» «to»`",
        r"(?P<from>\$\w+)\s+(?P<edge>\w+)\s+(?P<to>\$\w+)\s+(?:via|as|with|using|on|by)",
    ),
    Mistake(r"\$", "braces after a binding hold `property: value`; clauses stand without", r":\s*[A-Z]\w*\s*\{"),
    Mistake(r"\}", "hop bounds are written {min,max}, for example {1,3}", r"\{\s*[0-9]+"),
    Mistake(r"\}", "leave out empty braces: `$d: Doc` binds every Doc", r"\{"),
    Mistake(r"\{", "inline matches belong to a binding: `«variable»: Type { … }`", r"(?P<variable>\$\w+)"),
    Mistake(
        r"[A-Z]\w*\s*[{}]", "a binding has a colon: `«variable»: Type`", r"(?P<variable>\$\w+)", expecting=EDGE_NAME.expected
    ),
    Mistake(
        r"(?!(?:IS|IN|AND|OR|NOT|CONTAINS|STARTS_WITH|OPTIONAL|RETURN|WHERE)\b)(?P<edge>[A-Z]\w*)",
        "edge names start with a small letter in queries: write `«edge»`",
        expecting=EDGE_NAME.expected,
    ),
    Mistake(r"->|<-|-", "edges are written by name: `$a knows $b`, or `$a <knows> $b` for either direction"),
    Mistake(r"(?P<name>[a-z_]\w*)", "variables are written `$«name»`", expecting=VARIABLE.expected),
    Mistake(r"[a-z]\w*", "type names start with a capital letter", r"\$\w+\s*:", expecting=TYPE_NAME.expected),
)

_EXPRESSIONS = (
    Mistake(r"=", "equality is a single `=`", r"="),
    Mistake(r">", "write `!=` for unequal", r"<"),
    Mistake(r"&&", "write `and`"),
    Mistake(r"\|\|", "write `or`"),
    Mistake(
        r"\.\s*(?P<inner>\w+)",
        "a property has no properties; to read one of an edge, bind the edge: `$«variable» $h:«edge» $b`, then `$h.«inner»`",
        r"\$(?P<variable>\w+)\s*\.\s*(?P<edge>\w+)",
    ),
    Mistake(
        r"\.",
        f"a value here is {_VALUES}; in a match, compare two properties by a condition of their own",
        r"(?:\w\s*:|\bwhere\s+\w+\s*[=!<>]+)\s*\$\w+",
    ),
    Mistake(
        r"\.",
        "after a bare variable `contains` and `starts_with` are read as edge names: put a property or literal on the left",
        r"\$\w+\s+\w+\s+\$\w+",
    ),
    Mistake(r"\.", "variables start with `$`", r"(?<![$\w.])[a-z_]\w*"),
    Mistake(r"\*", "count a variable: count($p)", r"\bcount\s*\("),
    Mistake(r"\*", "there is no `*`: list the properties, `$p` returns the id"),
    Mistake(
        r"(?:null|None|nil)\b",
        "write `is null` or `is not null`; to leave a property empty, write `null` or leave it out",
    ),
    Mistake(r"(?i:true|false)\b", "write `true` or `false`", expecting=VALUE),
    Mistake(r"\w+\s*\(", "the only function here is `now()`", expecting=VALUE),
    Mistake(r"(?P<name>[a-z_]\w*)", "parameters are written `$«name»`, text stands in double quotes", expecting=VALUE),
    Mistake(r"\w", "text stands in double quotes", expecting=VALUE),
    Mistake(r"\$", "a list holds literals only; pass a whole list as a parameter: `$names: [String]`", expecting="a literal"),
    Mistake(r"\w", "text stands in double quotes", expecting="a literal"),
    Mistake(r"\]", "leave out the last comma", r",", expecting="a literal"),
    Mistake(r"[0-9]", 'write `«kind»("…")`, with quotes', r"\b(?P<kind>date|datetime)\s*\("),
    Mistake(r"[A-Z]{2,}\b", "keywords are written in small letters"),
)

_BRACES = (
    Mistake(r'"', "properties are named without quotes", r"[{,]", expecting=IDENT.expected),
    Mistake(r"=", "inside braces write `property: value`", r"\w"),
    Mistake(r",", "clauses are separated by white space only: leave out the comma"),
    Mistake(r"\w", "write `property: value`, with a colon", r"[{,]\s*\w+", expecting="`:`"),
)

QUERY_MISTAKES = (*MISTAKES_ANYWHERE, *_HEADER, *_MUTATIONS, *_READ, *_CLAUSES, *_EXPRESSIONS, *_BRACES)
