r"""What people write out of habit from other languages, and what to write here instead.

A syntax error says what was expected; that alone seldom tells somebody who wrote `==` or `'text'` why. Each language lists its
common mistakes (`pg.mistakes`, `gq.mistakes`). A mistake is known by up to three signs, and the first one that shows them all
gives its advice:

* what stands **here**, where reading got stuck;
* what stands just **before** it;
* what the grammar was **expecting**, by the name a pattern has in messages. The same word may be wrong for different reasons:
  `product_slug` is a parameter without its `$` where a value is expected, and a misspelt keyword where a statement is.

Advice can quote the text: `«name»` stands for the group of that name in either pattern. Worked example, for `$p WORKS_AT $c`:

    Mistake(r"(?P<edge>[A-Z]\w*)", "write `«edge»`", expecting="an edge name")       write `works_at`

Patterns are compiled when first tried: most runs find nothing wrong and should not pay for them.
"""

from __future__ import annotations

import re
from functools import cache

from omnigraph.language.cursor import TYPE, TextError
from omnigraph.language.gq.spelling import edge_spelling
from omnigraph.model.frozen import frozen


@frozen
class Mistake:
    """The signs of a mistake, and the advice."""

    here: str
    advice: str
    before: str = ""
    expecting: str = ""


_compiled = cache(re.compile)
_LOOK_BACK = 200
"""Characters before the stuck place that a pattern may look at."""


def advice(mistakes: tuple[Mistake, ...], text: str, error: TextError, item_start: int) -> str:
    """Advice for an error in the item that starts at `item_start`, or nothing."""
    stuck = error.span.start
    window = text[max(item_start, stuck - _LOOK_BACK) : stuck]
    for known in mistakes:
        if known.expecting and known.expecting not in error.expected:
            continue
        here = _compiled(known.here).match(text, stuck)
        before = _compiled(rf"(?:{known.before})\s*\Z").search(window) if here is not None else None
        if here is not None and before is not None:
            return _quoting(known.advice, here.groupdict() | before.groupdict())
    return ""


_LONGEST_QUOTE = 60


def _quoting(advice: str, groups: dict[str, str]) -> str:
    for name, text in groups.items():
        shown = text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"
        advice = advice.replace(f"«{name}»", edge_spelling(shown) if name == "edge" else shown)
    return advice


_UNLISTED = "lists are written `[String]`, `[I32]` and so on; enum, Vector and Blob cannot be listed"

TYPE_MISTAKES = (
    Mistake(r"", "write `Vector(n)` with the number of dimensions", r":\s*Vector", expecting="`(`"),
    Mistake(r"(?:enum|Vector)\b", _UNLISTED, r":\s*\[", expecting=TYPE),
    Mistake(r"\[", _UNLISTED, r":\s*(?:enum\s*\([^()]*\)|Vector\s*\([^()]*\)|Blob)", expecting="`?`"),
    Mistake(r"\[", "lists are written `[«type»]`", r":\s*(?P<type>[A-Z]\w*)", expecting="`?`"),
    Mistake(r"\[", "a list holds plain values: lists do not nest", r":\s*\[", expecting=TYPE),
    Mistake(
        r"\?",
        "an element is never null: write `[«type»]`, or `[«type»]?` for a list that may be missing",
        r":\s*\[\s*(?P<type>\w+)",
        expecting="`]`",
    ),
    Mistake(r"(?i:list|array|set|seq)\s*[<(\[]\s*(?P<type>\w+)", "lists are written `[«type»]`", expecting=TYPE),
    Mistake(r"(?i:list|array|set|seq)\b", _UNLISTED, expecting=TYPE),
    Mistake(r"(?i:optional|option|maybe)\s*[<(\[]\s*(?P<type>\w+)", "write `«type»?`", expecting=TYPE),
    Mistake(r"(?i:strs?|strings?|text|varchar|char|uuid)\b", "write `String`", expecting=TYPE),
    Mistake(
        r"(?i:ints?|integers?|long|number|bigint)\b", "write `I32` or `I64` (or `U32`, `U64` without a sign)", expecting=TYPE
    ),
    Mistake(r"(?i:floats?|double|decimal|real)\b", "write `F64` (or `F32`)", expecting=TYPE),
    Mistake(r"(?i:bools?|booleans?)\b", "write `Bool`", expecting=TYPE),
    Mistake(r"(?i:date_?times?|timestamp)\b", "write `DateTime`", expecting=TYPE),
    Mistake(r"(?i:dates?)\b", "write `Date`", expecting=TYPE),
    Mistake(r"(?i:bytes|binary|blobs?)\b", "write `Blob`", expecting=TYPE),
    Mistake(r"(?i:vectors?|embedding)\b", "write `Vector(n)` with the number of dimensions", expecting=TYPE),
)

MISTAKES_ANYWHERE = (
    Mistake(r";", "nothing ends with `;` here: leave it out"),
    Mistake(r"'", 'strings stand in double quotes: "like this"'),
    Mistake(r"#|--(?!>|\s*[\[$])", "comments start with `//`"),
    Mistake(r"\ufeff", "the text starts with a byte order mark: save it as UTF-8 without one"),
)
