"""Which HTTP stack the server is built on: the same two routes on each, one process, 32 connections on loopback, arms in turns.

The stacks are no dependencies of ours: they are installed into an environment of their own. What was measured, and what followed
from it, is in `docs/decisions/0011-the-http-stack.md`.

    python -m venv stacks
    stacks/bin/pip install msgspec uvloop httptools uvicorn starlette fastapi litestar blacksheep granian hypercorn aiohttp
    python -m benchmarks.http_stacks stacks/bin/python
"""

from __future__ import annotations

import json
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.server import CONNECTIONS, Load, load, request

ROUNDS = 5
SECONDS = 1.5

_COMMON = """
import msgspec
class Query(msgspec.Struct):
    query: str
    params: dict[str, object] | None = None
class Answer(msgspec.Struct):
    name: str
    rows: list[dict[str, object]]
decode, encode = msgspec.json.Decoder(Query).decode, msgspec.json.Encoder().encode
def answered(body, graph):
    wanted = decode(body)
    return encode(Answer(graph, [{"p.name": "Ada", "p.age": len(wanted.query)}]))
"""

_ASGI = """
from urllib.parse import unquote
JSON = (b"content-type", b"application/json")
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    segments = scope.get("raw_path", scope["path"].encode()).decode().split("/")
    if segments[1] == "healthz":
        body = b'{"status":"ok"}'
    elif segments[-1] == "query":
        parts = []
        while True:
            message = await receive()
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        body = answered(b"".join(parts), segments[2])
    else:
        body = encode(unquote(segments[-1]))
    await send({"type": "http.response.start", "status": 200, "headers": [JSON, (b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
"""

_APPS = {
    "own": _ASGI,
    "Starlette": """
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def health(request): return Response(b'{"status":"ok"}', media_type="application/json")
async def query(request): return Response(answered(await request.body(), request.path_params["g"]), media_type="application/json")
async def branch(request): return Response(encode(request.path_params["b"]), media_type="application/json")
app = Starlette(routes=[Route("/healthz", health), Route("/graphs/{g}/query", query, methods=["POST"]),
                        Route("/graphs/{g}/branches/{b}", branch)])
""",
    "FastAPI": """
from fastapi import FastAPI, Request, Response
app = FastAPI()
@app.get("/healthz")
async def health(): return Response(b'{"status":"ok"}', media_type="application/json")
@app.post("/graphs/{g}/query")
async def query(g: str, request: Request): return Response(answered(await request.body(), g), media_type="application/json")
@app.get("/graphs/{g}/branches/{b}")
async def branch(g: str, b: str): return Response(encode(b), media_type="application/json")
""",
    "Litestar": """
from litestar import Litestar, Request, Response, get, post
@get("/healthz")
async def health() -> Response[bytes]: return Response(b'{"status":"ok"}', media_type="application/json")
@post("/graphs/{g:str}/query", status_code=200)
async def query(g: str, request: Request) -> Response[bytes]:
    return Response(answered(await request.body(), g), media_type="application/json")
@get("/graphs/{g:str}/branches/{b:str}")
async def branch(g: str, b: str) -> Response[bytes]: return Response(encode(b), media_type="application/json")
app = Litestar([health, query, branch], openapi_config=None)
""",
    "BlackSheep": """
from blacksheep import Application, Content, Request, Response
app = Application(show_error_details=False)
def said(body): return Response(200, content=Content(b"application/json", body))
@app.router.get("/healthz")
async def health(): return said(b'{"status":"ok"}')
@app.router.post("/graphs/:g/query")
async def query(g: str, request: Request): return said(answered(await request.read(), g))
@app.router.get("/graphs/:g/branches/:b")
async def branch(g: str, b: str): return said(encode(b))
""",
    "aiohttp": """
from aiohttp import web
async def health(request): return web.Response(body=b'{"status":"ok"}', content_type="application/json")
async def query(request):
    return web.Response(body=answered(await request.read(), request.match_info["g"]), content_type="application/json")
async def branch(request): return web.Response(body=encode(request.match_info["b"]), content_type="application/json")
app = web.Application()
app.add_routes([web.get("/healthz", health), web.post("/graphs/{g}/query", query), web.get("/graphs/{g}/branches/{b}", branch)])
import sys, uvloop
uvloop.install()
if __name__ == "__main__":
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
""",
}

_UVICORN = ("-m", "uvicorn", "stack:app", "--port", "{port}", "--no-access-log", "--log-level", "error", "--loop", "uvloop")
_GRANIAN = (
    "-m",
    "granian",
    "stack:app",
    "--interface",
    "asgi",
    "--port",
    "{port}",
    "--workers",
    "1",
    "--no-log",
    "--loop",
    "uvloop",
)
_HYPERCORN = ("-m", "hypercorn", "stack:app", "--bind", "127.0.0.1:{port}", "-k", "uvloop", "--log-level", "ERROR")

STACKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "routes of our own on uvicorn": ("own", _UVICORN),
    "Starlette on uvicorn": ("Starlette", _UVICORN),
    "FastAPI on uvicorn": ("FastAPI", _UVICORN),
    "Litestar on uvicorn": ("Litestar", _UVICORN),
    "BlackSheep on uvicorn": ("BlackSheep", _UVICORN),
    "aiohttp": ("aiohttp", ("stack.py", "{port}")),
    "routes of our own on Granian": ("own", _GRANIAN),
    "routes of our own on Hypercorn": ("own", _HYPERCORN),
}

QUERY = request(
    "POST", "/graphs/people/query", {"query": "query q() { match { $p: Person } return { $p.name } }", "params": {"n": "Ada"}}
)


@contextmanager
def running(python: str, app: str, command: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port and its process."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        Path(folder, "stack.py").write_text(_COMMON + _APPS[app])
        line = [python, *(part.format(port=port) for part in command)]
        with subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _wait(port)
                yield port, process.pid
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()


def _wait(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"nothing listens at {port}")


def slash_in_name(port: int) -> str:
    """What a route is told of a name with a `%2F`."""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(request("GET", "/graphs/people/branches/agent%2F7").replace(b"Accept:", b"Connection: close\r\nAccept:"))
        answer = b""
        while part := client.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return body.decode() if b" 200" in head.split(b"\r\n")[0] else head.split(b"\r\n")[0].decode()


def resident(pid: int) -> float:
    """Memory of a process and its children, in MB."""
    pids = [pid, *(int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    return sum(int(Path(f"/proc/{p}/statm").read_text().split()[1]) * 4096 / 1e6 for p in pids)


def main(python: str) -> None:
    found: dict[str, dict[str, list[Load]]] = {name: {"empty": [], "query": []} for name in STACKS}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(running(python, *how)) for name, how in STACKS.items()}
        about = {name: {"a%2Fb": slash_in_name(port)} for name, (port, _) in servers.items()}
        for _ in range(ROUNDS):
            for name, (port, _) in servers.items():
                found[name]["empty"].append(load(port, [[request("GET", "/healthz")]] * CONNECTIONS, SECONDS))
                found[name]["query"].append(load(port, [[QUERY]] * CONNECTIONS, SECONDS))
        memory = {name: resident(pid) for name, (_, pid) in servers.items()}
    for name, loads in found.items():
        rates = {kind: statistics.median(one.per_second for one in some) for kind, some in loads.items()}
        slowest = statistics.median(one.p99 for one in loads["query"])
        print(
            json.dumps(
                {
                    "stack": name,
                    **{k: round(v) for k, v in rates.items()},
                    "p99_ms": round(slowest, 1),
                    "MB": round(memory[name]),
                    **about[name],
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1])
