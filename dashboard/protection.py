"""What every answer of the Lab says to a browser, and what a visitor who has not logged in may not ask for."""

from __future__ import annotations

import base64
import hashlib
import re

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

INTERNAL = "_stcore"
"""In the paths of what Streamlit serves for itself: metrics, uploads, programs that run pages."""
OPEN = ("/_stcore/health", "/_stcore/host-config", "/_stcore/stream")
"""What a page needs before its visitor has logged in: the last runs ``app.py``, which asks for the log-in."""
INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def content_policy(html: str) -> str:
    """Return the Content-Security-Policy that allows the scripts of this server and those written out in ``html``.

    Vega compiles the expressions of a figure, for which it needs ``unsafe-eval``; Streamlit writes styles into the
    page.
    """
    own = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in INLINE.findall(html)]
    rules = {
        "default-src": "'self'",
        "script-src": " ".join(["'self'", "'unsafe-eval'", *(f"'sha256-{digest}'" for digest in own)]),
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
    """Adds headers to every answer; with a log-in, hides what is Streamlit's own.

    Args:
        app: What answers.
        policy: The Content-Security-Policy.
        login: Whether visitors are asked to log in.
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

        hidden = self.login and scope["type"] == "http" and INTERNAL in scope["path"] and scope["path"] not in OPEN
        await (PlainTextResponse("Not Found", 404) if hidden else self.app)(scope, receive, send_protected)
