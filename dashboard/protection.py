"""Security headers of all responses of the Lab, and paths forbidden to visitors who have not logged in."""

from __future__ import annotations

import base64
import hashlib
import re

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

INTERNAL = "_stcore"
"""Part of the paths of Streamlit's own services: metrics, uploads, execution of pages."""
OPEN = ("/_stcore/health", "/_stcore/host-config", "/_stcore/stream")
"""Paths that a page needs before log-in. The last one runs ``app.py``, which shows the log-in."""
INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def content_policy(html: str) -> str:
    """Return the Content-Security-Policy that allows the scripts of this server and those inlined in ``html``.

    Vega compiles the expressions of a figure, which needs ``unsafe-eval``; Streamlit inlines styles.
    """
    script_hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in INLINE.findall(html)]
    rules = {
        "default-src": "'self'",
        "script-src": " ".join(["'self'", "'unsafe-eval'", *(f"'sha256-{digest}'" for digest in script_hashes)]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class Protection:
    """Adds headers to every response; with a log-in, blocks Streamlit's own services.

    Args:
        app: The application.
        policy: The Content-Security-Policy.
        login: Whether visitors must log in.
    """

    def __init__(self, app: ASGIApp, policy: str, login: bool) -> None:
        self.app, self.login = app, login
        self.headers = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        is_blocked = self.login and scope["type"] == "http" and INTERNAL in scope["path"] and scope["path"] not in OPEN
        await (PlainTextResponse("Not Found", 404) if is_blocked else self.app)(scope, receive, send_protected)
