"""The OpenAPI document as a page that people can read. It loads nothing from anywhere."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
h2 { font-size: 1rem; font-family: ui-monospace, monospace; margin: 1.5rem 0 .2rem } .method { font-weight: 700 }
pre { padding: .6rem; overflow: auto; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 4px }
.old { opacity: .6 }
"""


def page(document: dict[str, Any]) -> str:
    """The page."""
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(document['info']['title'])}</title>",
        f"<style>{_STYLE}</style><h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>",
        "<p>The document for programs is at <code>/openapi.json</code>.</p>",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(path, method, operation))
    return "".join(parts)


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    old = " class=old" if operation.get("deprecated") else ""
    head = f"<section{old}><h2><span class=method>{method.upper()}</span> {escape(path)}</h2><p>{escape(operation['summary'])}"
    given = ", ".join(p["name"] for p in operation["parameters"] if p["in"] == "query")
    return f"{head}{f'; takes {escape(given)}' if given else ''}.</p></section>"
