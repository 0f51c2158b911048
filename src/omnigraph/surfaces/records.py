"""Records that come with a request, as the file that a load reads, and what is wrong with them in the words of the request."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.errors import NotFound, ValidationError


@contextmanager
def complaints_by(unit: str) -> Iterator[None]:
    """What is wrong with records is said by their place in the body; of a branch that is not there, how it can be made."""
    try:
        yield
    except NotFound as error:
        if error.what != "branch":
            raise
        raise NotFound(f"branch '{error.name}' not found; pass `from` to create it", what="branch", hint=error.advice) from error
    except ValidationError as error:
        first = next(iter(error.violations), None)
        if first is None:
            raise
        where = "" if first.line is None else f"{unit} {first.line}: "
        more = len(error.violations) - 1
        text = f"{where}{first.message}{f' (and {more} more)' if more else ''}"
        raise ValidationError(text, violations=error.violations, hint=error.advice) from error


@contextmanager
def records_file(body: bytes) -> Iterator[Path]:
    """A body as a file, which is what loads read."""
    with tempfile.TemporaryDirectory(prefix="omnigraph-load-") as folder:
        path = Path(folder, "body.jsonl")
        path.write_bytes(body)
        yield path
