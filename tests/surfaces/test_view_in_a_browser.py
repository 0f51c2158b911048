"""The page as a person meets it, in a real browser: it draws, it can be clicked, searched, zoomed, and asks for nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.browser import Browser, Page, browser, find_browser
from tests.surfaces.calling import EXAMPLE

import omnigraph as og
from omnigraph.visualization.drawing import Drawing, DrawnEdge, DrawnNode
from omnigraph.visualization.visualization import Visualization

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
SERVICES = "query services() { match { $s: Service  $s dependsOn $t  optional { $team owns $s } } return { $s.name } }"
CHANGES = (
    """query hire() {
        insert Person { slug: "nora", name: "Nora Lind", email: "nora.lind@lumenfreight.example", role: "Analyst", remote: true,
                        started_on: date("2026-01-05") }
        insert MemberOf { from: "nora", to: "platform", since: date("2026-01-05"), lead: false }
        update Team set { seats: 9 } where slug = "platform"
        update Person set { role: "Chair" } where slug = "tobias-renner"
    }""",
    'query leave() { delete Person where slug = "amara-okoye" }',
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    with og.init(folder / "company-memory.omni", EXAMPLE / "schema.pg") as g:
        g.load(EXAMPLE / "data.jsonl")
        g.branches.create("agent/7")
        for change in CHANGES:
            g.mutate(change, branch="agent/7")
        og.view(g).save(folder / "schema.html")
        og.view(g, query=SERVICES).save(folder / "query.html")
        og.view(g, diff=("main", "agent/7")).save(folder / "diff.html")
        (folder / "notebook.html").write_text(f"<!doctype html><h1>A notebook</h1>{og.view(g)._repr_html_()}")
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = find_browser()
    if path is None and not os.environ.get("OMNIGRAPH_REQUIRE_BROWSER"):
        pytest.skip("no browser is installed; `apt-get install chromium` or set OMNIGRAPH_TEST_BROWSER")
    assert path is not None, "a browser is required here: see .ci/run"
    with browser(path) as running:
        yield running


@pytest.fixture
def open_page(chromium: Browser, pages: Path) -> Iterator[Page]:
    chromium.events.clear()
    with chromium.page((pages / "query.html").as_uri()) as page:
        page.wait("document.body.dataset.settled === 'true'")
        yield page


@pytest.mark.parametrize("name", ["schema", "query", "diff"])
def test_it_draws_everything_without_a_complaint(chromium: Browser, pages: Path, name: str) -> None:
    chromium.events.clear()
    address = (pages / f"{name}.html").as_uri()
    with chromium.page(address) as page:
        page.dark(name == "query")
        page.wait("document.body.dataset.settled === 'true'")
        data = page.evaluate("JSON.parse(document.getElementById('drawing').textContent)")
        assert page.evaluate("document.querySelectorAll('.node').length") == len(data["nodes"])
        assert page.evaluate("document.querySelectorAll('g.edge').length") == len(data["edges"])
        assert page.requests() == [address], "nothing is fetched"
        assert page.complaints() == []
        inside = page.evaluate(
            "(() => { const m = document.querySelector('main').getBoundingClientRect();"
            " return [...document.querySelectorAll('.node .shape')].every(s => { const b = s.getBoundingClientRect();"
            " return b.left >= m.left && b.right <= m.right && b.top >= m.top && b.bottom <= m.bottom; }); })()"
        )
        assert inside, "everything is on the screen"
        if os.environ.get("OMNIGRAPH_KEEP_SCREENSHOTS"):
            page.screenshot(ROOT / "docs" / "images" / f"view-{name}.png")


def test_shapes_do_not_cover_each_other(open_page: Page) -> None:
    overlaps = open_page.evaluate(
        "(() => { const b = [...document.querySelectorAll('.node .shape')].map(s => s.getBoundingClientRect()); let n = 0;"
        " for (let i = 0; i < b.length; i++) for (let j = i + 1; j < b.length; j++)"
        " if (b[i].left < b[j].right && b[j].left < b[i].right && b[i].top < b[j].bottom && b[j].top < b[i].bottom) n++; return n; })()"
    )
    assert overlaps == 0


def test_a_click_shows_properties_and_edges(open_page: Page) -> None:
    node = ".node[data-key='Service/position-store']"
    assert open_page.evaluate("document.getElementById('panel').hidden")
    open_page.click(f"{node} circle")
    open_page.wait("!document.getElementById('panel').hidden")
    text = open_page.evaluate("document.getElementById('panel').innerText")
    assert "Position Store" in text
    assert "tier" in text
    assert "DependsOn" in text
    open_page.click("#panel li button")
    open_page.wait("!document.getElementById('panel').innerText.startsWith('✕\\nPosition Store')")
    open_page.click("#panel .close")
    assert open_page.evaluate("document.getElementById('panel').hidden")


def test_a_search_dims_the_rest(open_page: Page) -> None:
    open_page.click("#search")
    open_page.type("tracker")
    open_page.wait("document.body.dataset.found !== ''")
    found = int(open_page.evaluate("document.body.dataset.found"))
    assert found == open_page.evaluate("document.querySelectorAll('.node:not(.dim)').length")
    assert 0 < found < open_page.evaluate("document.querySelectorAll('.node').length")


def test_the_legend_hides_a_type_with_its_edges(open_page: Page) -> None:
    before = open_page.evaluate("document.querySelectorAll('g.edge:not(.gone)').length")
    open_page.click("#legend button[data-key='node:Team']")
    assert open_page.evaluate("document.querySelectorAll('.node.gone').length") == open_page.evaluate(
        "document.querySelectorAll(\".node[data-key^='Team/']\").length"
    )
    assert open_page.evaluate("document.querySelectorAll('g.edge:not(.gone)').length") < before
    open_page.click("#legend button[data-key='node:Team']")
    assert open_page.evaluate("document.querySelectorAll('g.edge:not(.gone)').length") == before


def test_pan_zoom_and_moving_a_node(open_page: Page) -> None:
    place = "document.getElementById('world').getAttribute('transform')"
    start = open_page.evaluate(place)
    open_page.mouse("mouseWheel", 600, 400, deltaX=0, deltaY=-300)
    open_page.wait(f"{place} !== '{start}'")
    zoomed = open_page.evaluate(place)
    open_page.drag((300, 600), (380, 640))
    assert open_page.evaluate(place) != zoomed
    open_page.click("#fit")
    node = ".node[data-key='Service/ledger']"
    x, y = open_page.center(f"{node} circle")
    open_page.drag((x, y), (x + 60, y + 20))
    moved = open_page.center(f"{node} circle")
    assert abs(moved[0] - x - 60) < 3
    assert abs(moved[1] - y - 20) < 3


def test_light_and_dark(open_page: Page) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    open_page.dark(False)
    light = open_page.evaluate(paper)
    open_page.dark(True)
    assert open_page.evaluate(paper) != light
    open_page.click("#theme")
    assert open_page.evaluate(paper) == light, "the button comes before the system's wish"


def test_a_diff_shows_before_and_after(chromium: Browser, pages: Path) -> None:
    with chromium.page((pages / "diff.html").as_uri()) as page:
        page.wait("document.body.dataset.settled === 'true'")
        statuses = set(page.evaluate("[...document.querySelectorAll('.node')].map(n => n.classList[n.classList.length - 1])"))
        assert {"added", "changed", "removed", "context"} <= statuses
        page.click(".node[data-key='Team/platform'] circle")
        page.wait("!document.getElementById('panel').hidden")
        assert page.evaluate("document.querySelector('#panel .before').textContent") == "6"
        assert page.evaluate("document.querySelector('#panel .after').textContent") == "9"


def test_the_same_in_a_notebook(chromium: Browser, pages: Path) -> None:
    """The frame is its own document, without any right to the notebook around it."""
    with chromium.page((pages / "notebook.html").as_uri()) as page:
        page.wait("document.querySelector('iframe').getBoundingClientRect().height === 560 + 2")
        assert page.evaluate("document.querySelector('iframe').contentDocument") is None
        (frame,) = page.frames()
        frame.wait("document.body.dataset.settled === 'true'")
        assert frame.evaluate("document.querySelectorAll('.node').length") == 12


def test_many_nodes_are_still_a_picture(chromium: Browser, tmp_path: Path) -> None:
    nodes = tuple(DrawnNode(f"T/{i}", f"T{i % 5}", f"node {i}") for i in range(400))
    edges = tuple(DrawnEdge(f"E/{i}", "E", "E", f"T/{i}", f"T/{i * i % 97}") for i in range(400))
    page_file = Visualization(Drawing("answer", "many", "", nodes, edges)).save(tmp_path / "many.html")
    with chromium.page(page_file.as_uri()) as page:
        page.wait("document.body.dataset.settled === 'true'")
        assert page.evaluate("document.querySelectorAll('.node').length") == 400
        shown = "[...document.querySelectorAll('.node text.name')].filter(t => getComputedStyle(t).display !== 'none').length"
        assert 0 < page.evaluate(shown) <= 24, "the best connected have their names"
