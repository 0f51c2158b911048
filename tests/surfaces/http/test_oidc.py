"""Tokens of an identity provider: whom they are believed of, and everything that makes them worthless."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.surfaces.http.conftest import Running, people

from omnigraph.errors import UsageError
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.oidc import InvalidToken, Provider, Verifier
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.surfaces.http.tokens import Tokens, Unauthorized

ISSUER, AUDIENCE = "https://login.example", "https://graphs.example"
RSA = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())


def public(key: Any, kid: str, **more: str) -> dict[str, Any]:
    algorithm = jwt.algorithms.ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else jwt.algorithms.RSAAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, **more}


class Keys:
    """A provider that gives its keys over HTTP, and counts how often."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = [public(RSA, "one"), public(EC, "two", alg="ES256", use="sig")]
        self.asked, self.broken = 0, False
        keys = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                keys.asked += 1
                self.send_response(500 if keys.broken else 200)
                self.end_headers()
                self.wfile.write(json.dumps({"keys": keys.said}).encode())

            def log_message(self, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/jwks"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def keys() -> Iterator[Keys]:
    found = Keys()
    yield found
    found.close()


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def verifier(keys: Keys, clock: Clock) -> Verifier:
    return Verifier(Provider(ISSUER, AUDIENCE, keys.url), clock)


def token(key: Any = RSA, kid: str | None = "one", alg: str = "RS256", **claims: Any) -> bytes:
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 300, **claims}
    headers = None if kid is None else {"kid": kid}
    return jwt.encode({k: v for k, v in said.items() if v is not None}, key, alg, headers).encode()


def test_whom_a_token_is_for(verifier: Verifier, keys: Keys) -> None:
    found = verifier.verify(token(groups=["team", " admins "]))
    assert (found.actor, found.groups) == ("ada", frozenset({"team", "admins"}))
    assert verifier.verify(token(EC, "two", "ES256", aud=[AUDIENCE, "x"], groups="team")).groups == {"team"}
    assert keys.asked == 1


def pieces(header: object, claims: object, signature: bytes = b"") -> bytes:
    coded = [base64.urlsafe_b64encode(p if isinstance(p, bytes) else json.dumps(p).encode()).rstrip(b"=") for p in (header, claims, signature)]  # fmt: skip
    return b".".join(coded)


GOOD = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": 4_000_000_000}
PEM = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def hmac_with_the_public_key() -> bytes:
    import hashlib
    import hmac

    signed = pieces({"alg": "HS256", "kid": "one"}, GOOD).rpartition(b".")[0]
    return signed + b"." + base64.urlsafe_b64encode(hmac.new(PEM, signed, hashlib.sha256).digest()).rstrip(b"=")


WORTHLESS: dict[str, Callable[[], bytes]] = {
    "signed by another key": lambda: token(OTHER),
    "of another key's name": lambda: token(kid="two"),
    "of an unknown key": lambda: token(kid="three"),
    "without a key's name, where there are several": lambda: token(kid=None),
    "of another issuer": lambda: token(iss="https://evil.example"),
    "for another audience": lambda: token(aud="https://other.example"),
    "for no audience": lambda: token(aud=None),
    "of no issuer": lambda: token(iss=None),
    "over": lambda: token(exp=time.time() - 61),
    "without an end": lambda: token(exp=None),
    "not begun": lambda: token(nbf=time.time() + 61),
    "of nobody": lambda: token(sub=None),
    "of a blank": lambda: token(sub=" "),
    "of a number": lambda: token(sub="a\nb"),
    "with groups that are none": lambda: token(groups={"team": True}),
    "with a list of groups that is none": lambda: token(groups=["team", 3]),
    "with another signature than is accepted": lambda: token(alg="RS512"),
    "unsigned": lambda: pieces({"alg": "none", "kid": "one"}, GOOD),
    "signed with the public key as a secret": hmac_with_the_public_key,
    "with a key's name that is no text": lambda: pieces({"alg": "RS256", "kid": ["one"]}, GOOD, b"x"),
    "with claims that are no object": lambda: pieces({"alg": "RS256", "kid": "one"}, [1], b"x"),
    "with a header that is no object": lambda: pieces([1], GOOD, b"x"),
    "with a deep header": lambda: pieces(b"[" * 5_000, GOOD, b"x"),
    "no token": lambda: b"a.b.c",
    "not text": lambda: b"\xff.\xff.\xff",
    "too long": lambda: b"a" * 20_000 + b".b.c",
    "changed": lambda: token()[:-4] + b"AAAA",
}


@pytest.mark.parametrize("what", WORTHLESS)
def test_worthless_tokens(verifier: Verifier, what: str) -> None:
    with pytest.raises(InvalidToken):
        verifier.verify(WORTHLESS[what]())
    assert verifier.verify(token()).actor == "ada", "and others are believed as before"


def test_clocks_may_differ_a_little(verifier: Verifier) -> None:
    assert verifier.verify(token(exp=time.time() - 50)).actor == "ada"
    assert verifier.verify(token(nbf=time.time() + 50)).actor == "ada"


def test_keys_may_change(verifier: Verifier, keys: Keys, clock: Clock) -> None:
    verifier.verify(token())
    keys.said = [public(OTHER, "new")]
    with pytest.raises(InvalidToken):
        verifier.verify(token(OTHER, "new"))
    assert keys.asked == 1, "not again so soon"
    clock.now += 11
    assert verifier.verify(token(OTHER, "new")).actor == "ada"
    assert keys.asked == 2
    with pytest.raises(InvalidToken):
        verifier.verify(token())
    for number in range(50):
        with pytest.raises(InvalidToken):
            verifier.verify(token(kid=f"unknown-{number}"))
    assert keys.asked == 2, "whoever sends nonsense does not make the server ask"
    clock.now += 301
    verifier.verify(token(OTHER, "new", exp=clock.now + 60))
    assert keys.asked == 3


def test_a_provider_that_is_gone_leaves_its_keys(verifier: Verifier, keys: Keys, clock: Clock) -> None:
    verifier.verify(token())
    keys.broken = True
    clock.now += 400
    assert verifier.verify(token(exp=clock.now + 60)).actor == "ada"


def test_keys_in_a_file(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [public(RSA, "one"), {"kty": "oct", "kid": "s", "k": "AAAA"}]}))
    verifier = Verifier(Provider(ISSUER, AUDIENCE, str(tmp_path / "jwks.json"), actor_claim="email", groups_claim="roles"), clock)
    found = verifier.verify(token(kid=None, email="ada@x", roles=["r"]))
    assert (found.actor, found.groups) == ("ada@x", frozenset({"r"}))


def test_what_was_verified_is_remembered_until_it_ends(verifier: Verifier, clock: Clock) -> None:
    sent = token(exp=clock.now + 100)
    assert verifier.remembered(sent) is None
    assert asyncio.run(verifier.verified(sent)) is verifier.remembered(sent)
    clock.now += 161
    assert verifier.remembered(sent) is None


SET = {"OMNIGRAPH_OIDC_ISSUER": ISSUER, "OMNIGRAPH_OIDC_AUDIENCE": AUDIENCE, "OMNIGRAPH_OIDC_JWKS": "https://login.example/k"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"OMNIGRAPH_OIDC_AUDIENCE": ""},
        {"OMNIGRAPH_OIDC_JWKS": ""},
        {"OMNIGRAPH_OIDC_JWKS": "http://login.example/k"},
        {"OMNIGRAPH_OIDC_ALGORITHMS": "HS256"},
        {"OMNIGRAPH_OIDC_ALGORITHMS": "RS256,none"},
        {"OMNIGRAPH_OIDC_ALGORITHMS": ","},
        {"OMNIGRAPH_OIDC_LEEWAY": "-1"},
        {"OMNIGRAPH_OIDC_LEEWAY": "3600"},
    ],
)
def test_settings_that_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        Provider.from_environment({**SET, **wrong})
    assert Provider.from_environment({}) is None


def test_static_tokens_stay_as_they_are(keys: Keys) -> None:
    environment = {**SET, "OMNIGRAPH_OIDC_JWKS": keys.url, "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"bob": "static"}'}
    tokens = Tokens.from_environment(environment)

    def who(header: bytes) -> object:
        return asyncio.run(tokens.identified([header]))

    assert who(b"Bearer static") == ("bob", frozenset())
    assert who(b"Bearer " + token(groups=["team"])) == ("ada", {"team"})
    for wrong in (b"Bearer a.b.c", b"Bearer other", b"Basic " + token(), b"bearer " + token()):
        with pytest.raises(Unauthorized):
            who(wrong)
    assert tokens
    assert Tokens(verifier=tokens.verifier)


POLICY = """version: 1
groups: { team: [nobody] }
rules:
  - id: read
    allow: { actors: { group: team }, actions: [read] }
"""


def test_groups_of_a_token_are_groups_of_a_policy(keys: Keys, tmp_path: Path) -> None:
    from omnigraph.policy.authoriser import PolicyAuthoriser
    from omnigraph.policy.bundle import Kind, read_bundle

    graphs = Registry.of(named_graphs([str(people(tmp_path))]), OpenGraphs())
    rules = PolicyAuthoriser({"people": read_bundle(POLICY, source="policy.yaml", kind=Kind.GRAPH)}, None)
    tokens = Tokens.from_environment({**SET, "OMNIGRAPH_OIDC_JWKS": keys.url})
    application = Application(Revision(graphs, rules, tokens))

    def ask(path: str, sent: bytes | None = None) -> httpx.Response:
        async def asked() -> httpx.Response:
            headers = {} if sent is None else {"Authorization": f"Bearer {sent.decode()}"}
            async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://x") as client:
                return await client.get(path, headers=headers)

        return asyncio.run(asked())

    assert ask("/graphs/people/branches", token(groups=["team"])).status_code == 200
    assert ask("/graphs/people/branches", token(groups=["others"])).status_code == 403
    assert ask("/graphs/people/branches", token(groups=["team"], exp=time.time() - 90)).status_code == 401
    assert ask("/graphs/people/branches").status_code == 401
    assert ask("/.well-known/oauth-protected-resource").json() == {
        "resource": AUDIENCE,
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
    }
    application.close()


def test_a_server_without_a_provider_names_none(server: Running) -> None:
    assert httpx.get(f"{server.url}/.well-known/oauth-protected-resource").status_code == 404
