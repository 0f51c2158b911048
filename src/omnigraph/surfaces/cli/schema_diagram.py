"""A schema as a diagram in the terminal: a box per node type, then every edge as an arrow."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from omnigraph.catalog.catalog import Catalog, EntityType, Property
from omnigraph.model.text_tables import width


def draw(catalog: Catalog, console: Console | None = None) -> None:
    """Draw a catalog."""
    console = console or Console()
    if not catalog.nodes:
        console.print("(an empty schema)", highlight=False)
        return
    for row in _rows([_box(node) for node in catalog.nodes.values()], console):
        console.print(row)
    if catalog.edges:
        console.print(_arrows(catalog))


def _rows(boxes: list[Panel], console: Console) -> Iterator[Table]:
    """Boxes side by side, as many as fit: those of like height together, so that little space is lost."""
    widths = {id(box): console.measure(box).maximum for box in boxes}
    row: list[Panel] = []
    for box in sorted(boxes, key=lambda b: len(console.render_lines(b)), reverse=True):
        if row and sum(widths[id(b)] + 1 for b in [*row, box]) > console.width:
            yield _side_by_side(row)
            row = []
        row.append(box)
    yield _side_by_side(row)


def _side_by_side(boxes: list[Panel]) -> Table:
    row = Table.grid(padding=(0, 1))
    row.add_row(*boxes)
    return row


def _box(node: EntityType) -> Panel:
    body = Table.grid(padding=(0, 1))
    for prop in node.properties.values():
        body.add_row(_marked(node, prop), Text(_short(prop), style="dim"))
    subtitle = Text(", ".join(node.implements), style="italic dim") if node.implements else None
    content: Group | Text = Group(body) if node.properties else Text("(no properties)", style="dim")
    return Panel(content, title=Text(node.name, style="bold"), subtitle=subtitle, border_style="cyan", expand=False)


def _marked(node: EntityType, prop: Property) -> Text:
    return Text(f"{prop.name} ⚷", style="bold yellow") if prop in node.key else Text(prop.name)


def _short(prop: Property) -> str:
    spelled = str(prop.type)
    if prop.type.enum_values is not None and len(spelled) > 28:
        spelled = f"enum({prop.type.enum_values[0]}, … {len(prop.type.enum_values)})" + ("?" if prop.type.nullable else "")
    return f"{spelled} ← {prop.embed.source}" if prop.embed is not None else spelled


def _arrows(catalog: Catalog) -> Panel:
    rows = Table.grid(padding=(0, 0))
    rows.add_column(justify="right", no_wrap=True)
    rows.add_column(no_wrap=True)
    rows.add_column(no_wrap=True)
    rows.add_column()
    widest = max(width(_label(edge)) for edge in catalog.edges.values())
    for edge in catalog.edges.values():
        fill = "─" * (widest - width(_label(edge)))
        arrow = Text(f" ──{_label(edge)}{fill}──▶ ", style="green")
        properties = ", ".join(f"{p.name}: {_short(p)}" for p in edge.properties.values())
        rows.add_row(
            Text(edge.source, style="bold"), arrow, Text(edge.target, style="bold"), Text(f"  {properties}", style="dim")
        )
    return Panel(rows, title=Text("edges", style="bold"), border_style="green", expand=False)


def _label(edge: EntityType) -> str:
    if (edge.minimum, edge.maximum) == (0, None):
        return edge.name
    most = "" if edge.maximum is None else str(edge.maximum)
    return f"{edge.name} {edge.minimum}..{most}"
