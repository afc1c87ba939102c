"""Who may ask what: a token in the header, on a way that nobody reads."""

from __future__ import annotations

import ipaddress
import time

from starlette.requests import Request

from ldpsql.server.problems import Problem
from ldpsql.server.tokens import Token, Tokens

BEGUN = "ldpsql.begun"
"""Under this extension of ASGI a server says when the first byte of a request came, of
`time.monotonic`."""

_A = {"analyst": "an analyst or an admin", "relay": "a relay or an admin", "admin": "an admin"}


def find_begin(request: Request) -> float:
    """When a request began; where the server does not say, when this was asked first."""
    said = request.scope.setdefault("extensions", {}).setdefault(BEGUN, {"at": time.monotonic()})
    begun: float = said["at"]
    return begun


def require_role(request: Request, tokens: Tokens | None, role: str) -> Token:
    """The token that the request bears, of the role, over https or within the machine; Problem
    otherwise."""
    client = request.client
    if request.url.scheme != "https" and not (client and _is_loopback(client.host)):
        raise Problem(403, "needs-https", "tokens are taken over https, or from this machine")
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    token = None if tokens is None or kind.lower() != "bearer" else tokens.find(text.strip())
    if token is None:
        wanted = {"WWW-Authenticate": "Bearer"}
        raise Problem(401, "no-token", "give a token (ldpsql token add)", wanted)
    if token.role not in (role, "admin"):
        raise Problem(403, "not-allowed", f"this takes the token of {_A[role]}")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
