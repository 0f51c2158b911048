"""A visualization: one HTML file with everything in it."""

from __future__ import annotations

import html
import tempfile
import webbrowser
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from string import Template

from omnigraph.model.outputs import write_output
from omnigraph.model.phrases import counted, one_line
from omnigraph.service.python_calls import AnyPath, guarded
from omnigraph.visualization.drawing import Drawing

NOTEBOOK_HEIGHT = 560
"""Height in pixels in a notebook."""


class Visualization:
    """A drawing on a page that needs no network."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing

    @cached_property
    def html(self) -> str:
        """The page."""
        here = files("omnigraph.visualization")
        parts = {
            "title": html.escape(self.drawing.title),
            "style": here.joinpath("page.css").read_text(encoding="utf-8"),
            "script": here.joinpath("page.js").read_text(encoding="utf-8"),
            "drawing": self.drawing.to_json(),
        }
        return Template(here.joinpath("page.html").read_text(encoding="utf-8")).substitute(parts)

    @guarded()
    def save(self, path: AnyPath) -> Path:
        """Write the page to a file."""
        target = Path(path)
        write_output(target, self.html.encode())
        return target

    @guarded()
    def open(self, path: AnyPath | None = None) -> bool:
        """Show the page in the browser; False if there is none."""
        target = self.save(path or Path(tempfile.mkdtemp(prefix="omnigraph-")) / "view.html")
        return webbrowser.open(target.absolute().as_uri())

    def __repr__(self) -> str:
        drawn = f"{counted(len(self.drawing.nodes), 'node')}, {counted(len(self.drawing.edges), 'edge')}"
        return one_line(f"Visualization of {self.drawing.title}: {drawn}")

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{NOTEBOOK_HEIGHT}px;border:1px solid #ccc;border-radius:8px"
        return f'<iframe style="{style}" sandbox="allow-scripts" srcdoc="{html.escape(self.html)}"></iframe>'
