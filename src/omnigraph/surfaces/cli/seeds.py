"""Vectors for a file of records, made before it is loaded: what `omnigraph embed` does.

    {"type": "Claim", "data": {"slug": "c1", "statement": "…", "source": "…"}}
      spec {"dimension": 8, "types": {"Claim": {"target": "embedding", "fields": ["statement", "source"]}}}
    →  the text that is embedded:   type: Claim
                                    statement: …
                                    source: …
    {"type": "Claim", "data": {"slug": "c1", "statement": "…", "source": "…", "embedding": [0.1, …]}}

Lines that are no records of a configured type pass through as they are. The output appears under its name when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from omnigraph.errors import NotFound, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.outputs import output_file

BATCH = 4_096
"""Texts handed over at once: some requests for each of those that are under way together."""

Embed = Callable[[Sequence[str], int], Sequence[Sequence[float]]]


class Mode(Enum):
    """Which records get a vector."""

    FILL_MISSING = "fill_missing"
    REEMBED_SELECTED = "reembed_selected"
    REEMBED_ALL = "reembed_all"
    CLEAN = "clean"


@frozen
class Target:
    """Where the vector of a type goes, and which properties it stands for."""

    property: str
    fields: tuple[str, ...]


@frozen
class Spec:
    """What to embed."""

    dimension: int
    types: Mapping[str, Target]

    @classmethod
    def read(cls, path: str) -> Spec:
        """A spec from a JSON file."""
        return cls.of(_json(path), path)

    @classmethod
    def of(cls, data: Any, path: str) -> Spec:
        """A spec as a file says it."""
        try:
            types = {name: Target(str(t["target"]), tuple(map(str, t["fields"]))) for name, t in data["types"].items()}
            dimension = int(data["dimension"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UsageError(
                f"{path} is not an embedding spec",
                hint='Write {"dimension": 8, "types": {"Doc": {"target": "embedding", "fields": ["title"]}}}.',
            ) from None
        if dimension < 1:
            raise UsageError(f"{path}: a vector has at least one dimension, not {dimension}")
        return cls(dimension, types)


@frozen
class Selector:
    """`Type:field=value` or `field=value`."""

    type: str | None
    field: str
    value: str

    @classmethod
    def read(cls, text: str) -> Selector:
        """A selector as a person writes it."""
        left, equals, value = text.partition("=")
        type_, colon, field = left.rpartition(":")
        if not equals or not field:
            raise UsageError(f"--select {text}: which records?", hint="Write Type:field=value or field=value.")
        return cls(type_ if colon else None, field, value)

    def holds(self, type_: str, data: Mapping[str, Any]) -> bool:
        """Whether a record is meant."""
        return (self.type is None or self.type == type_) and str(data.get(self.field)) == self.value


@dataclass
class Count:
    """What was done."""

    records: int = 0
    selected: int = 0
    embedded: int = 0
    cleaned: int = 0


@frozen(slots=False)
class Job:
    """A file to embed."""

    spec: Spec
    mode: Mode
    types: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()

    def run(self, lines: Iterable[str], embed: Embed) -> Iterator[str]:
        """The lines of the output. `count` is complete when they are read."""
        waiting: list[_Line] = []
        for number, line in enumerate(lines, 1):
            waiting.append(self._line(line, number))
            if sum(w.text is not None for w in waiting) >= BATCH:
                yield from self._done(waiting, embed)
                waiting = []
        yield from self._done(waiting, embed)

    @property
    def count(self) -> Count:
        found: Count = self.__dict__.setdefault("_count", Count())
        return found

    def _line(self, line: str, number: int) -> _Line:
        if not line.strip():
            return _Line(line.rstrip("\n"))
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(f"line {number} is not JSON: {error}") from None
        type_ = record.get("type") if isinstance(record, dict) else None
        target = self.spec.types.get(type_) if isinstance(type_, str) else None
        data = record.get("data") if isinstance(record, dict) else None
        self.count.records += isinstance(type_, str)
        if target is None or not isinstance(data, dict) or not self._is_selected(str(type_), data):
            return _Line(line.rstrip("\n"))
        self.count.selected += 1
        has_vector = data.get(target.property) is not None
        if self.mode is Mode.CLEAN:
            self.count.cleaned += has_vector
            data.pop(target.property, None)
            return _Line(_compact(record))
        if self.mode is Mode.FILL_MISSING and has_vector:
            return _Line(line.rstrip("\n"))
        texts = [f"{name}: {data[name]}" for name in target.fields if data.get(name) is not None]
        return _Line(line.rstrip("\n"), record, target.property, "\n".join([f"type: {type_}", *texts]))

    def _is_selected(self, type_: str, data: Mapping[str, Any]) -> bool:
        if self.types and type_ not in self.types:
            return False
        return not self.selectors or any(s.holds(type_, data) for s in self.selectors)

    def _done(self, waiting: list[_Line], embed: Embed) -> Iterator[str]:
        texts = [w.text for w in waiting if w.text is not None]
        vectors = iter(embed(texts, self.spec.dimension) if texts else ())
        for line in waiting:
            if line.text is not None:
                assert line.record is not None
                line.record["data"][line.property] = list(next(vectors))
                self.count.embedded += 1
            yield line.raw if line.text is None else _compact(line.record)


@dataclass
class _Line:
    raw: str
    record: Any = None
    property: str = ""
    text: str | None = None


def rewrite(source: str, target: str, job: Job, embed: Embed) -> None:
    """Read one file and write the other."""
    try:
        with Path(source).open(encoding="utf-8") as lines, output_file(target) as out:
            for line in job.run(lines, embed):
                out.write(f"{line}\n".encode())
    except FileNotFoundError as error:
        raise NotFound(f"there is no {error.filename}") from None


def manifest(path: str) -> tuple[str, str, Spec]:
    """Input, output and spec of a seed manifest; paths are relative to it. The spec is a file, or stands in the manifest."""
    import yaml

    base = Path(path).parent
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        source = (data.get("sources") or {}).get("raw_seed") or (data.get("seed") or {}).get("data")
        target = (data.get("artifacts") or {}).get("embedded_seed") or "./build/seed.embedded.jsonl"
        embeddings = data["embeddings"]
        spec = embeddings.get("spec", embeddings)
    except FileNotFoundError:
        raise NotFound(f"there is no {path}") from None
    except (KeyError, TypeError, AttributeError, yaml.YAMLError):
        raise UsageError(f"{path} is not a seed manifest", hint="It names sources.raw_seed and embeddings.spec.") from None
    if source is None:
        raise UsageError(f"{path} names no input", hint="Set sources.raw_seed.")
    described = Spec.read(str(base / spec)) if isinstance(spec, str) else Spec.of(spec, path)
    (base / target).parent.mkdir(parents=True, exist_ok=True)
    return str(base / source), str(base / target), described


def _json(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"there is no {path}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None


def _compact(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False)
