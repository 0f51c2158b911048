"""Texts that are safe to show: what a terminal would obey, and what would turn a line around, stands there as `\\u001b`.

Control characters (C0, DEL, C1), the marks and overrides of bidirectional text, and line separators are spelt out; line feeds and
tabs stay. The spelling is that of JSON, so a JSON text that is made printable is the same JSON.
"""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """A text with everything spelt out that would do something else than be seen."""
    return _UNSAFE.sub(_spelt, text)


def _spelt(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
