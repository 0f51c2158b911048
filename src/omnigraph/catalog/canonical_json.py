"""JSON as it is hashed: compact, fields in the order given, text unescaped, floats in their shortest form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None


def compact(value: Json) -> str:
    """The one text of a JSON value."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{encode_basestring(k)}:{compact(v)}" for k, v in value.items()) + "}"
    return "[" + ",".join(compact(v) for v in value) + "]"


def float_text(value: float) -> str:
    """Shortest decimal that reads back as the same double; `1.0` for integral values, `1e23` beyond sixteen digits."""
    text = repr(value)
    if "e" not in text:
        return text
    digits, _, exponent = text.partition("e")
    power = int(exponent)
    if power == -5:
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{digits.removesuffix('.0')}e{power}"


def sha256(text: str) -> str:
    """`sha256:` and the lower-case hex digest of the text in UTF-8."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
