"""Random programs of both languages, as trees that the grammar can express.

Not every tree is a program. What the scannerless grammar cannot say is kept out here, each time with the reason; everything else
is in: `schemas` and `query_files` reach every kind of node. Names are drawn so that keywords turn up where names may stand, since
that is where a grammar without reserved words goes wrong.

`noisy` takes a canonical text and puts random white space and comments wherever trivia may stand; `mutated` breaks a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from omnigraph.language.cursor import quote_string
from omnigraph.language.gq import tree as q
from omnigraph.language.pg import tree as p
from omnigraph.model.limits import MAX_I64, MAX_U32, MAX_U64, MAX_VECTOR_DIMENSION, MIN_I64
from omnigraph.model.types import PropertyType, Scalar

Some = TypeVar("Some")


def tuples_of(items: st.SearchStrategy[Some], smallest: int = 0, largest: int = 3) -> st.SearchStrategy[tuple[Some, ...]]:
    """A tuple of a few."""
    return st.lists(items, min_size=smallest, max_size=largest).map(tuple)


def nested(
    flat: st.SearchStrategy[Some], wrap: Callable[[st.SearchStrategy[Some]], st.SearchStrategy[Some]], levels: int = 2
) -> st.SearchStrategy[Some]:
    """Flat ones, and now and then one wrapped around others, to a depth. Much cheaper than `st.recursive`."""
    found = flat
    for _ in range(levels):
        found = st.one_of(flat, flat, wrap(found))
    return found


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def words(text: str, separator: str | None = None) -> list[str]:
    """A list that reads as a line."""
    return text.split(separator)


_KEYWORDS = words(
    "node edge interface implements enum query match return order limit offset insert update delete set where as asc desc "
    "key unique index range check card description notes nota optional_x distinct_x isbn inner andy oracle nullable "
    "containsx starts_withx counter nowhere dated datetimes trueness false_ is in and or not null true false count now date"
)
_PLAIN = words("a b name age slug p q f _ _x __ x1 aB c_d knows worksAt _9 z_ a_rather_long_name_for_a_property")
# Drawn from a pool: one choice per name keeps a thousand programs affordable.
_NAMES = [*_KEYWORDS, *_PLAIN, *_PLAIN]
_TYPES = words("A B Person Company T_1 String Date Vector Node Implements ARatherLongNameForAType")

# So are the leaves: a thousand programs with a choice for every character and flag would take minutes.
idents = st.sampled_from([p.Name(name) for name in _NAMES])
type_names = st.sampled_from([p.Name(name) for name in _TYPES])


def _spelt_loosely(value: str) -> str:
    """A string literal that leaves line breaks and tabs as they are."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _not_spelt(value: str) -> str:
    """As in trees built by programs."""
    return ""


_SPELLINGS = [_not_spelt, quote_string, _spelt_loosely]
_TEXTS = ["", "a", "// no comment", "/* nor this */", "two\nlines", "\r\n", "\t\\", '"', "é 木 🙂", "\0\x0c\u2028", "long " * 20]
_FRACTIONS = words("0.0 1.5 0.25 7.001 10.10 123456789.999999 0.3333333333333333 00.50 9007199254740993.0 0.0000001")
_WHOLES = [0, 1, 7, 42, MAX_U32, MAX_I64]


def _number(written: str, keep: bool) -> tuple[int | float, str]:
    return (float(written) if "." in written else int(written)), (written if keep else "")


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_PLAIN_LITERALS = [
    *(p.Literal(p.LiteralKind.STRING, text, spell(text)) for text in _TEXTS for spell in _SPELLINGS),
    *(p.Literal(p.LiteralKind.FLOAT, text, raw) for text in _FRACTIONS for raw in ("", text)),
    *(p.Literal(p.LiteralKind.INTEGER, text, raw) for text in [*map(str, _WHOLES), "007"] for raw in ("", text)),
    *(p.Literal(p.LiteralKind.BOOL, text, raw) for text in ("true", "false") for raw in ("", text)),
]
# `true_north` would be read as the literal `true`, then garbage.
_NAME_LITERALS = [p.Literal(p.LiteralKind.NAME, name) for name in _NAMES if not name.startswith(("true", "false"))]
_plain_literals = st.one_of(
    st.sampled_from(_PLAIN_LITERALS), st.text(max_size=6).map(lambda text: p.Literal(p.LiteralKind.STRING, text))
)
_arguments = st.sampled_from(_NAME_LITERALS) | _plain_literals
_CONSTRAINTS = frozenset(kind.value for kind in p.ConstraintKind)


@st.composite
def schema_annotations(draw: st.DrawFn) -> p.Annotation:
    name = draw(idents)
    # `@key(…)` is a body constraint, `@card(1)` on an edge may be taken for a cardinality: neither gets a value.
    if name.text in _CONSTRAINTS or name.text == "card" or draw(st.booleans()):
        return p.Annotation(name)
    return p.Annotation(name, draw(_arguments), draw(tuples_of(st.tuples(idents, _plain_literals), largest=2)))


_PARAMETER_TYPES = [
    *(
        PropertyType(s, null, many)
        for s in Scalar
        if s not in (Scalar.VECTOR, Scalar.DURATION)
        for null in (True, False)
        for many in (True, False)
    ),
    *(PropertyType(Scalar.VECTOR, null, dimension=n) for null in (True, False) for n in (1, 8, MAX_VECTOR_DIMENSION)),
]
_ENUMS = [
    *[("a",), ("b", "a"), ("open", "in-progress", "done"), ("1-on-1", "2x", "-", "_"), ("Z", "a", "B")],
    tuple(f"one-of-too-many-values-for-a-line-{n}" for n in range(4)),
]
_PROPERTY_TYPES: list[tuple[PropertyType, tuple[p.Name, ...]]] = [
    *((type_, ()) for type_ in _PARAMETER_TYPES),
    *(
        (PropertyType(Scalar.STRING, null, enum_values=tuple(sorted(order))), written)
        for null in (True, False)
        for order in _ENUMS
        for written in ((), tuple(map(p.Name, order)))
    ),
]
properties = st.builds(
    lambda name, type_, annotations: p.Property(name, type_[0], annotations, enum_order=type_[1]),
    idents,
    st.sampled_from(_PROPERTY_TYPES),
    tuples_of(schema_annotations(), largest=2),
)
_BOUNDS = [
    _number(sign + written, keep) for written in [*_FRACTIONS, *map(str, _WHOLES)] for sign in ("", "-") for keep in (True, False)
]
_bounds = st.sampled_from(_BOUNDS)
_ranges = st.one_of(
    st.builds(lambda low, high: p.Range(low[0], high[0], (low[1], high[1])), _bounds, _bounds),
    _bounds.map(lambda low: p.Range(low[0], None, (low[1], ""))),
    _bounds.map(lambda high: p.Range(None, high[0], ("", high[1]))),
)
constraints = st.builds(p.Constraint, st.sampled_from(p.ConstraintKind), tuples_of(_arguments | _ranges, 1, 3))
bodies = tuples_of(properties | constraints).map(p.Body)
_CARDINALITIES = [None, None, *(p.Cardinality(low, high) for low in (0, 1, MAX_U32) for high in (None, 0, 5, MAX_U32))]
declarations = st.one_of(
    st.builds(p.Interface, type_names, tuples_of(properties).map(p.Body)),
    st.builds(p.Node, type_names, tuples_of(schema_annotations()), tuples_of(type_names), bodies),
    st.builds(
        p.Edge,
        type_names,
        type_names,
        type_names,
        st.sampled_from(_CARDINALITIES),
        tuples_of(schema_annotations()),
        st.none() | bodies,
        tuples_of(constraints, largest=2),
    ),
)
schemas = tuples_of(declarations).map(p.Schema)


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

variables = st.sampled_from([q.Variable(name) for name in [*_NAMES, *[q.ANONYMOUS] * 5]])
_STRINGS = [q.String(text, spell(text)) for text in _TEXTS for spell in _SPELLINGS]
strings = st.sampled_from(_STRINGS) | st.text(max_size=6).map(q.String)
_LITERALS: list[q.Literal] = [
    *_STRINGS,
    *(q.Date(text) for text in _STRINGS[:6]),
    *(q.DateTime(text) for text in _STRINGS[-6:]),
    *(q.Integer(number * sign) for number in _WHOLES for sign in (1, -1)),
    *(q.Float(*_number(sign + written, keep)) for written in _FRACTIONS for sign in ("", "-") for keep in (True, False)),
    q.Integer(MIN_I64),
    *map(q.Bool, (True, False)),
]
_flat_literals: st.SearchStrategy[q.Literal] = st.sampled_from(_LITERALS) | st.text(max_size=6).map(q.String)
literals = nested(_flat_literals, lambda inner: tuples_of(inner).map(q.List))

# A bare name must not read as a literal (`true…`), as a function once a parenthesis follows, as an operator or connective that
# goes on with what stands before it, nor as the `as` of the projection in front.
_NOT_AN_ALIAS = re.compile(
    r"true|false|contains|starts_with|(?:is|in|and|or|not|null|as|distinct"
    r"|now|nearest|search|fuzzy|match_text|bm25|rrf|count|sum|avg|min|max|date|datetime)\Z"
)
aliases = st.sampled_from([q.Alias(name) for name in _NAMES if _NOT_AN_ALIAS.match(name) is None])
accesses = st.builds(q.Access, variables, idents)
_NOW = st.just(q.Call(q.Function.NOW))
_simple = st.one_of(accesses, variables, aliases, literals, _NOW)


def _call(function: q.Function, *arguments: st.SearchStrategy[q.Expression]) -> st.SearchStrategy[q.Call]:
    return st.tuples(*arguments).map(lambda drawn: q.Call(function, drawn))


_nearest = _call(q.Function.NEAREST, accesses, _simple)
_bm25 = _call(q.Function.BM25, _simple, _simple)
_ranks = st.one_of(_nearest, _bm25)
_RRF = q.Function.RRF
_FUZZY = q.Function.FUZZY
rankings = st.one_of(_ranks, _call(_RRF, _ranks, _ranks), _call(_RRF, _ranks, _ranks, _simple))


def _text_tests(inner: st.SearchStrategy[q.Expression]) -> st.SearchStrategy[q.Call]:
    return st.one_of(
        _call(q.Function.SEARCH, inner, inner),
        _call(q.Function.MATCH_TEXT, inner, inner),
        _call(_FUZZY, inner, inner),
        _call(_FUZZY, inner, inner, inner),
    )


def _aggregates(inner: st.SearchStrategy[q.Expression]) -> st.SearchStrategy[q.Aggregate]:
    return st.builds(q.Aggregate, st.sampled_from(q.AggregateFunction), inner, st.booleans())


def _computed(inner: st.SearchStrategy[q.Expression]) -> st.SearchStrategy[q.Expression]:
    return st.one_of(
        st.builds(q.Arithmetic, inner, st.sampled_from(q.ArithmeticOperator), inner),
        st.builds(q.Arithmetic, inner, st.sampled_from(q.ArithmeticOperator), inner),
        st.builds(q.Negative, inner),
        st.builds(q.Call, st.sampled_from(_OF_VALUES), tuples_of(inner, 1, 3)),
    )


_OF_VALUES = [f for f in q.Function if f not in q.TEXT_TESTS | q.RANKINGS | {q.Function.NOW}]
text_tests = _text_tests(_simple)
expressions = nested(
    st.one_of(_simple, rankings), lambda inner: st.one_of(_aggregates(inner), _text_tests(inner), _computed(inner))
)
values = st.one_of(literals, variables, _NOW)


# ── clauses ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_OPERANDS = st.one_of(_simple, _simple, expressions)
_primaries = st.one_of(
    st.builds(q.Comparison, _OPERANDS, st.sampled_from(q.Operator), _OPERANDS),
    st.builds(q.IsNull, _OPERANDS, st.booleans()),
    st.builds(q.Among, _OPERANDS, _OPERANDS, st.booleans()),
    text_tests.map(q.TextTest),
)
conditions = nested(
    _primaries,
    lambda inner: st.one_of(tuples_of(inner, 2, 3).map(q.And), tuples_of(inner, 2, 3).map(q.Or), inner.map(q.Not)),
    levels=3,
)
assignments = st.builds(q.Assignment, idents, values)
bindings = st.builds(q.Binding, variables, type_names, tuples_of(assignments))
_HOPS = [None, None, *(q.Hops(low, high) for low in (0, 1, MAX_U32) for high in (None, 0, 3, MAX_U32))]
# The grammar keeps `not` for `not { … }`, and `not_…` goes with it.
_EDGES = [p.Name(name) for name in _NAMES if re.match(r"not(?![A-Za-z0-9])", name) is None]
traversals = st.builds(
    q.Traversal, variables, st.sampled_from(_EDGES), variables, st.none() | variables, st.booleans(), st.sampled_from(_HOPS)
)
_paths = st.builds(
    q.Traversal,
    variables,
    st.sampled_from(_EDGES),
    variables,
    variables,
    st.booleans(),
    st.sampled_from(_HOPS),
    st.just(True),
)
_flat_clauses: st.SearchStrategy[q.Clause] = st.one_of(bindings, traversals, traversals, _paths, conditions.map(q.Filter))


def _blocks(inner: st.SearchStrategy[q.Clause]) -> st.SearchStrategy[q.Clause]:
    return tuples_of(inner, 1, 2).map(q.Block).flatmap(lambda block: st.sampled_from([q.Negation(block), q.Optional(block)]))


clauses = nested(_flat_clauses, _blocks)


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_projections = st.builds(q.Projection, expressions, st.none() | idents)
_directions = st.sampled_from([None, *q.Direction])
# `nearest(…)` takes no direction.
_orderings = st.one_of(
    _nearest.map(q.Ordering),
    st.builds(
        q.Ordering,
        st.one_of(_simple, _bm25, _aggregates(_simple), _computed(_simple)),
        _directions,
        st.sampled_from([None, *q.Nulls]),
    ),
)
_counts = st.sampled_from([None, None, 0, 10, MAX_U64, q.Variable("k")])
reads = st.builds(
    q.Read,
    tuples_of(clauses, 1, 3).map(q.Block),
    tuples_of(_projections, 1, 3),
    st.booleans(),
    tuples_of(_orderings, largest=2),
    _counts,
    _counts,
    st.none() | st.none() | conditions,
)
_COMPARISONS = [o for o in q.Operator if not o.value.isidentifier()]
_predicates = st.builds(q.Comparison, idents.map(lambda name: q.Alias(name.text)), st.sampled_from(_COMPARISONS), values)
# Among several, a name must not begin like a literal, nor be a word that stands between conditions.
_own = st.sampled_from([q.Alias(name) for name in ("slug", "from", "to", "since", "node", "update", "where")])
_several = st.one_of(
    st.builds(q.Comparison, _own, st.sampled_from(_COMPARISONS), values),
    st.builds(q.IsNull, _own, st.booleans()),
    st.builds(q.Among, _own, variables | st.sampled_from([q.List(()), q.List((q.Integer(1), q.Integer(2)))])),
)
_wheres = st.one_of(
    _predicates,
    _several,
    st.builds(q.And, tuples_of(_several | st.builds(q.Or, tuples_of(_several, 2, 2)), 2, 3)),
    st.builds(q.Or, tuples_of(_several | st.builds(q.And, tuples_of(_several, 2, 2)), 2, 3)),
    st.builds(q.Not, _several | st.builds(q.And, tuples_of(_several, 2, 2))),
)
_assigned = st.builds(q.Assignment, idents, values | st.just(q.Null()))
_some_assignments = tuples_of(_assigned, 1, 4)
_patterns = tuples_of(clauses, 1, 3).map(q.Block)
_accessed = st.builds(q.Access, variables, idents)
_from_rows = tuples_of(st.builds(q.Assignment, idents, values | _accessed), 1, 3)
_statements = st.one_of(
    st.builds(q.Insert, type_names, _some_assignments),
    st.builds(q.Update, type_names, _some_assignments, _wheres),
    st.builds(q.Delete, type_names, _wheres),
    st.builds(q.Insert, type_names, _from_rows, _patterns),
    st.builds(q.MatchedUpdate, _patterns, variables, _from_rows),
    st.builds(q.MatchedDelete, _patterns, variables),
)
mutations = tuples_of(_statements, 1, 3).map(q.Mutation)
_query_annotations = st.lists(st.sampled_from(q.QueryAnnotationKind), unique=True).flatmap(
    lambda kinds: st.tuples(*(st.builds(q.QueryAnnotation, st.just(kind), strings) for kind in kinds))
)
_parameters = st.builds(q.Parameter, st.sampled_from(_NAMES), st.sampled_from(_PARAMETER_TYPES))
queries = st.builds(q.Query, idents, tuples_of(_parameters), _query_annotations, st.one_of(reads, reads, mutations))
query_files = tuples_of(queries, largest=2).map(q.QueryFile)


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_BLANKS = [" ", "  ", "\n", "\r\n", "\t", "\n\n", "\n \t\r\n\n"]
_COMMENTS = words('// c\n|// d \t\r\n|//"\n|////* e\n|/**/|/***/|/* f */|/* g */\n|/*"*/|\n/* h\r\n  \n i */ ', "|")
_TRIVIA = _BLANKS + _COMMENTS
_SEAMS = re.compile(r'("(?:[^"\\]|\\[\s\S])*")|([ \n]+)|([{}()\[\],:])')


def noisy(text: str, seed: int) -> str:
    """A canonical text with other trivia: in place of every blank, and around signs that are tokens of their own."""
    random = Random(seed)
    calm = random.random()

    def trivia() -> str:
        return " " if random.random() < calm else " " + "".join(random.choices(_TRIVIA, k=random.randint(1, 3)))

    def scatter(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1]
        if found[2] is not None:
            return trivia()
        return found[3] if random.random() < calm else f"{trivia()}{found[3]}{trivia()}"

    return _SEAMS.sub(scatter, text)


_SIGNS = words("{ } ( ) [ ] < > <= = != == , : . .. -> ? @ $ - \" \\ ' ; // /* */ # 0 -1 1.5 99999999999999999999 1e5")
_PHRASES = words(
    "$p|$_|Person|String|Vector(|enum(|@card(|@key(|@range(x, 0..|count(|count(distinct |search($a, |nearest(|date(|in [|(|"
    "not {|optional {|is not null| and | or |node A {}|query q() {|match {|return {",
    "|",
)
_STRANGE = ["\n", "\r", "\0", "\ufeff", "\u00a0", "\u2028", "\x0c", "\x85", "é", "木", "🙂", "İ", "٣"]
_TOKENS = [*_KEYWORDS, *_SIGNS, *_SIGNS, *_PHRASES, *_PHRASES, *_STRANGE]

_edits = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "double", "swap", "insert", "delete token", "double token", "swap", "truncate"]),
        st.integers(0, 10**6),
        st.integers(1, 12),
        st.sampled_from(_TOKENS),
    ),
    min_size=1,
    max_size=5,
)
_TOKEN = re.compile(r'\$?\w+|"[^"]*"|\s+|.', re.DOTALL)


def _edited(text: str, kind: str, place: int, length: int, token: str) -> str:
    at = place % (len(text) + 1)
    if kind.endswith("token"):
        found = _TOKEN.match(text, at)
        kind, length = kind.split()[0], len(found[0]) if found else 0
    piece, rest = text[at : at + length], text[at + length :]
    match kind:
        case "delete":
            return text[:at] + rest
        case "double":
            return text[:at] + piece + piece + rest
        case "swap":
            return text[:at] + rest[:length] + piece + rest[length:]
        case "truncate":
            return text[:at]
        case _:
            return text[:at] + token + text[at:]


def mutated(originals: Sequence[str]) -> st.SearchStrategy[str]:
    """One of some texts after a few random edits."""

    def edit(text: str, edits: Sequence[tuple[str, int, int, str]]) -> str:
        for one in edits:
            text = _edited(text, *one)
        return text

    return st.builds(edit, st.sampled_from(originals), _edits)


_token_lists = st.lists(st.sampled_from(_TOKENS), max_size=30)
random_texts = st.one_of(st.text(max_size=60), _token_lists.map("".join), _token_lists.map(" ".join))


def repeated(beginnings: Sequence[str], pieces: Sequence[str], longest: int) -> st.SearchStrategy[str]:
    """A beginning, then one piece over and over: deep nesting, endless tokens, things that are never closed."""

    def repeat(beginning: str, piece: str, length: int, ending: str) -> str:
        return beginning + piece * (length // len(piece)) + ending

    lengths = st.sampled_from([12, 100, 700, longest])
    return st.builds(
        repeat, st.sampled_from(beginnings), st.sampled_from(pieces), lengths, st.sampled_from(["", "}", '"', "*/", "\n"])
    )
