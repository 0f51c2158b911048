"""A real browser without a window, driven through its own debugging pipe: no driver, no port, no other package.

with browser() as chromium, chromium.page("file:///x.html") as page:
    page.evaluate("document.title")
    page.click("#fit")
    page.screenshot(Path("x.png"))
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic", "--hide-scrollbars", "--remote-debugging-pipe",
    "--force-device-scale-factor=1", "--window-size=1200,760",
)  # fmt: skip


def find_browser() -> str | None:
    """The path of a browser: $OMNIGRAPH_TEST_BROWSER, or the first that is installed."""
    return os.environ.get("OMNIGRAPH_TEST_BROWSER") or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A running browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        """What the browser told without being asked."""

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Ask the browser for something."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    @contextmanager
    def page(self, address: str) -> Iterator[Page]:
        """A page, once it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Page.navigate", url=address)
        page.wait("document.readyState === 'complete'")
        yield page
        self.call("Target.closeTarget", targetId=target)


class Page:
    """One page in a browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask for something about this page."""
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, condition: str, seconds: float = 60) -> None:
        """Until something holds."""
        end = time.monotonic() + seconds
        while not self.evaluate(condition):
            assert time.monotonic() < end, f"still not: {condition}"
            time.sleep(0.05)

    def center(self, selector: str) -> tuple[float, float]:
        """The middle of an element on the screen."""
        x, y = self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return x, y

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """An event of the mouse."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector: str) -> None:
        """A click on an element, as a hand does it."""
        x, y = self.center(selector)
        self.click_at(x, y)

    def click_at(self, x: float, y: float) -> None:
        """A click somewhere."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A drag from here to there."""
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for share in (0.3, 0.7, 1.0):
            x, y = (a + (b - a) * share for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    def requests(self) -> list[str]:
        """Addresses the page asked for."""
        self.evaluate("1")
        return [e["params"]["request"]["url"] for e in self._browser.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """Errors and warnings the page made."""
        self.evaluate("1")
        wanted = ("Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(e["params"]) for e in self._browser.events if e.get("method") in wanted]

    def frames(self) -> list[Page]:
        """The pages inside this one that have nothing to do with it: sandboxed frames are processes of their own."""
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        attached = [e["params"] for e in self._browser.events if e.get("method") == "Target.attachedToTarget"]
        return [Page(self._browser, a["sessionId"]) for a in attached if a["targetInfo"]["type"] == "iframe"]

    def dark(self, is_dark: bool) -> None:
        """A person who prefers dark, or light."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path: Path) -> None:
        """What is on the screen."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    """A browser as long as the block runs."""
    for_it, ours_out = os.pipe()
    ours_in, from_it = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        script = f'exec "$@" 3<&{for_it} 4>&{from_it}'
        line = ["bash", "-c", script, "browser", path, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(line, pass_fds=(for_it, from_it), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(for_it)
        os.close(from_it)
        try:
            running = Browser(ours_out, ours_in)
            yield running
            running.call("Browser.close")
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            os.close(ours_out)
            os.close(ours_in)
