"""From a whole text to its top-level items, going on after the ones that cannot be read.

Both languages are a sequence of items (declarations, queries). When one cannot be read, its problem is noted and reading
resumes at the next line that looks like the start of an item, so that one run reports the problems of several items.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from omnigraph.language.cursor import Cursor, NoMatch, TextError
from omnigraph.language.diagnostics import Family, Problems
from omnigraph.language.mistakes import Mistake, advice
from omnigraph.language.source import Source, Span
from omnigraph.model.limits import MAX_SOURCE_CHARS
from omnigraph.model.phrases import counted

Item = TypeVar("Item")


def read_items(
    source: Source,
    read_item: Callable[[Cursor], Item],
    item_start: re.Pattern[str],
    mistakes: tuple[Mistake, ...],
) -> tuple[list[Item], Problems]:
    """Every item that can be read, and the problems of those that cannot."""
    problems = Problems(source)
    items: list[Item] = []
    if len(source.text) > MAX_SOURCE_CHARS:
        message = f"the text has {counted(len(source.text), 'character')}; the limit is {MAX_SOURCE_CHARS:,}"
        problems.add(Family.PARSE, "length-limit", message, Span(0, 1), "split it into several files")
        return items, problems
    c = Cursor(source.text)
    while not c.at_end():
        start = c.start
        try:
            items.append(read_item(c))
            continue
        except NoMatch:
            error = c.stuck_error()
        except TextError as caught:
            error = caught
        help = error.help or advice(mistakes, source.text, error, start)
        problems.add(Family.PARSE, error.code, error.message, error.span, help)
        if error.code == "unclosed-comment":  # the rest of the text is that comment
            break
        resume = item_start.search(source.text, max(error.span.start, start) + 1)
        if resume is None:
            break
        c = Cursor(source.text, resume.start())
    return items, problems
