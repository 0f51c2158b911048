"""Models that run in this process: loaded once, at their first use, and asked for one batch at a time.

`base_url` is the folder that holds the model, if it is not to be fetched by the name of the model. No text leaves the machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from omnigraph.embedding.pace import Pace
from omnigraph.embedding.paced import Paced
from omnigraph.embedding.port import Answer, Purpose, Stumbled
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.times import shortened

LOCAL_PACE = Pace(batch=64, in_flight=1, attempts=1, timeout=None, deadline=None)


@frozen(slots=False)
class LocalModel(ABC):
    """A model that runs in this process."""

    model: str
    base_url: str | None = None
    """The folder that holds it."""
    pace: Pace = LOCAL_PACE

    kind: ClassVar[str]

    @abstractmethod
    def _load(self, folder: str | None) -> tuple[Any, int]:
        """The model, and the dimension of its vectors."""

    @abstractmethod
    def _vectors(self, loaded: Any, texts: Sequence[str], purpose: Purpose) -> Sequence[Sequence[float]]:
        """One vector per text."""

    def embed(self, texts: Sequence[str], dimension: int) -> Sequence[Sequence[float]]:
        """One vector per text."""
        self.prepare(dimension)
        found: Sequence[Sequence[float]] = Paced(self).embed(texts, dimension)  # type: ignore[assignment]
        return found

    def prepare(self, dimension: int) -> None:
        """Load the model; raise if that fails, or if its vectors have another dimension."""
        _, made = self._loaded()
        if made != dimension:
            raise UsageError(
                f"vectors of `{self.model}` have {made:,} numbers, not {dimension:,}",
                hint=f"Declare Vector({made}), or choose a model with {dimension}.",
            )

    def ask(self, texts: Sequence[str], dimension: int, purpose: Purpose, timeout: float | None) -> Answer:
        """The vectors of a batch."""
        try:
            return Answer(self._vectors(self._loaded()[0], texts, purpose))
        except UsageError:
            raise
        except Exception as error:
            raise Stumbled(f"{type(error).__name__}: {shortened(error)}") from None

    def _loaded(self) -> tuple[Any, int]:
        key = (self.kind, self.model, self.base_url)
        with _lock:
            found = _models.get(key)
            if found is None:
                try:
                    found = _models[key] = self._load(_folder(self.base_url))
                except ImportError as error:
                    raise UsageError(
                        f"{self.kind} is not installed ({error})", hint=f"pip install 'omnigraph[{self.kind}]'"
                    ) from None
                except UsageError:
                    raise
                except Exception as error:
                    raise UsageError(
                        f"the model `{self.model}` cannot be loaded by {self.kind}: {type(error).__name__}: {shortened(error)}",
                        hint="Check its name; without a network, name the folder that holds it as the base URL.",
                    ) from error
            return found


_models: dict[tuple[str, str, str | None], tuple[Any, int]] = {}
_lock = Lock()


def _folder(base_url: str | None) -> str | None:
    if base_url is None:
        return None
    parts = urlsplit(base_url)
    return unquote(parts.path) if parts.scheme == "file" else base_url
