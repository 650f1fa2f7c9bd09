"""A file server with the faults of real ones, and archives that no honest program writes."""

from __future__ import annotations

import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Server(ThreadingHTTPServer):
    """Serves ``files`` with the requested faults, and records what it sent: (name, bytes sent)."""

    breaks_after: int | None = None
    stalls = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.leads: dict[str, str] = {}
        self.sent: list[tuple[str, int]] = []
        self.released = threading.Event()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, name = self.server, self.path[1:]
        if name in server.leads:
            self.send_response(302)
            self.send_header("Location", server.leads[name])
            return self.end_headers()
        if name not in server.files:
            return self.send_error(404)
        body = server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        part = body[: server.breaks_after]
        server.sent.append((name, len(part)))
        self.wfile.write(part)
        if server.stalls:
            server.released.wait(30)

    def log_message(self, *_: Any) -> None:
        pass


def tar(*members: tuple[str, bytes | dict[str, Any]]) -> bytes:
    """Return a .tar.gz of files, and of members of other types, described by their fields."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, entry in members:
            member, content = tarfile.TarInfo(name), entry if isinstance(entry, bytes) else b""
            for key, value in ({"size": len(content)} if isinstance(entry, bytes) else entry).items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    """Return a .zip of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything below a folder, itself included, with the time of its last change and its content."""
    paths = [folder, *folder.rglob("*")]
    return {str(p): (p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in paths}
