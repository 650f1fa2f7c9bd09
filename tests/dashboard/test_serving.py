"""``longwave dashboard`` as a process: when it says that it is there, what it refuses, what it leaves behind."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.types import Message
from streamlit import config
from streamlit.runtime.secrets import Secrets
from streamlit.testing.v1 import AppTest
from tree import ROOT
from waiting import free_port

from longwave.dashboard import table_frames
from longwave.dashboard.index_page import index_html
from longwave.dashboard.protection import Protection, content_policy
from longwave.platform.cli import lab
from longwave.platform.cli.main import main

[EXAMPLE] = re.findall(
    r"```toml\n(.*?)```", (ROOT / "infra/deploy/login/README.md").read_text(encoding="utf-8"), re.DOTALL
)
"""The secrets in the page on the login."""
INDEX = Path(st.__file__).parent / "static/index.html"


@pytest.mark.integration
def test_the_lab_says_where_it_is_once_it_listens_keeps_its_port_and_ends_with_its_process(tmp_path: Path) -> None:
    (tmp_path / "statistics.py").write_text("raise SystemExit('not the standard library')")
    port, store = free_port(), f"sqlite:///{tmp_path}/none.db"
    command = [sys.executable, "-P", "-m", "longwave", "dashboard", "--port", str(port), "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ, cwd=tmp_path) as lab:
        try:
            assert lab.stdout
            assert lab.stdout.readline() == f"The Lab is at http://127.0.0.1:{port}. Stop it with Ctrl-C.\n"
            with urlopen(f"http://127.0.0.1:{port}/_stcore/health") as answer:
                assert answer.read() == b"ok"
            for page in ("", "task?task=adding", "nothing"):
                with urlopen(f"http://127.0.0.1:{port}/{page}") as answer:
                    html, headers = answer.read().decode(), answer.headers
                assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("DENY", "nosniff")
                assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
                assert ("BACKEND_BASE_URL" in html) == (page != "nothing") and "<title>Streamlit</title>" in html
            second = subprocess.run(command, capture_output=True, text=True, timeout=30)
            message = f"longwave: --port {port} on 127.0.0.1: Address already in use. Give another: --port {port + 1}\n"
            assert (second.returncode, second.stderr) == (2, message)
            ours = psutil.Process(lab.pid).children(recursive=True)
        finally:
            lab.send_signal(signal.SIGTERM)
        lab.wait(20)
    _, alive = psutil.wait_procs(ours, timeout=20)
    assert ours and not alive and not (tmp_path / "none.db").exists()


def test_a_browser_hears_early_of_code_that_draws_tables_and_figures_and_all_of_it_is_there() -> None:
    own, theirs = (
        re.findall(r'modulepreload" crossorigin href="(.*?)"', page) for page in (index_html(), INDEX.read_text())
    )
    added = [link for link in own if link not in theirs]
    assert set(theirs) < set(own) and len(set(own)) == len(own) and all((INDEX.parent / link).is_file() for link in own)
    for name in ("DataFrame", "ArrowVegaLiteChart"):
        assert len([link for link in added if f"/{name}." in link]) == 1


def test_an_address_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--address", "example.org"]) == 2
    assert "--address is an IP address, 127.0.0.1 or 0.0.0.0, got 'example.org'." in capsys.readouterr().err


def test_a_store_that_is_damaged_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.db").write_bytes(b"no store " * 100)
    assert main(["dashboard", "--store", f"sqlite:///{tmp_path}/s.db", "--port", str(free_port())]) == 2
    assert capsys.readouterr().err.startswith("longwave: ")


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.7"])
def test_others_are_let_in_by_a_word_of_its_own_alone(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as listener:  # should the word not be asked for, nothing starts all the same
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        command = ["dashboard", "--address", address, "--port", str(listener.getsockname()[1])]
        assert main(command) == 2
        message = capsys.readouterr().err
        assert (
            message
            == f"longwave: --address {address} lets other machines see all results. To allow that, add: --public\n"
        )
        assert main([*command, "--public"]) == 2
        assert "lets others in" not in capsys.readouterr().err


@pytest.mark.integration
def test_who_has_not_logged_in_sees_nothing_where_a_log_in_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_STORE", f"sqlite:///{tmp_path}/none.db")
    for login, buttons in (("yes", ["Log in"]), ("", [])):
        monkeypatch.setenv("LONGWAVE_LOGIN", login)
        st.cache_resource.clear()
        page = AppTest.from_file(str(Path(table_frames.__file__).parent / "app.py"), default_timeout=60).run()
        assert not page.exception and [button.label for button in page.button] == buttons
        assert bool(page.info) != bool(login)


def test_a_log_in_is_refused_at_start_where_nobody_could_log_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["dashboard", "--login", "--port", str(free_port()), "--store", f"sqlite:///{tmp_path}/none.db"]
    monkeypatch.setattr(lab, "find_spec", lambda _: None)
    assert main(command) == 2
    assert (
        capsys.readouterr().err == "longwave: --login needs Authlib. Install it with: pip install 'streamlit[auth]'\n"
    )
    monkeypatch.setattr(lab, "find_spec", lambda _: True)
    secrets = tmp_path / "secrets.toml"
    option = config.get_option
    monkeypatch.setattr(config, "get_option", lambda key: [str(secrets)] if key == "secrets.files" else option(key))
    for text, missing in (
        (None, "redirect_uri, cookie_secret, client_id, client_secret, server_metadata_url"),
        ("no TOML", "redirect_uri, cookie_secret, client_id, client_secret, server_metadata_url"),
        (EXAMPLE.replace("cookie_secret", "cookie"), "cookie_secret"),
    ):
        if text:
            secrets.write_text(text)
        monkeypatch.setattr(st, "secrets", Secrets())
        assert main(command) == 2
        where = "in the section [auth] of ~/.streamlit/secrets.toml; infra/deploy/login has an example."
        assert capsys.readouterr().err == f"longwave: --login needs {missing} {where}\n"
    secrets.write_text(EXAMPLE)
    monkeypatch.setattr(st, "secrets", Secrets())
    monkeypatch.setattr(lab, "_serve_lab", lambda *_: 0)
    assert main(command) == 0


def answer(path: str, login: bool) -> tuple[int, dict[str, str], str]:
    """Return what a visitor gets of an application that tells all: status, headers and text."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    asyncio.run(Protection(PlainTextResponse("all"), "default-src 'self'", login)(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, sent[1]["body"].decode()


def test_an_anonymous_visitor_reads_the_health_and_no_internals() -> None:
    internals = "metrics", "metrics/", "script-health-check", "agent/openapi.json", "agent/interact", "upload_file/a/b"
    for path in (*(f"/_stcore/{name}" for name in internals), "//_stcore/metrics", "/x/_stcore/metrics"):
        assert answer(path, login=True)[::2] == (404, "Not Found")
        assert answer(path, login=False)[::2] == (200, "all")
    for path in ("/_stcore/health", "/_stcore/host-config", "/", "/task", "/auth/login"):
        assert answer(path, login=True)[::2] == (200, "all")


@pytest.mark.parametrize("path", ["/", "/_stcore/metrics"])
def test_every_answer_says_what_a_browser_may_do_with_it(path: str) -> None:
    _, headers, _ = answer(path, login=True)
    assert headers["content-security-policy"] == "default-src 'self'"
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")


def test_scripts_that_are_written_out_are_allowed_by_their_hashes() -> None:
    digest = base64.b64encode(hashlib.sha256(b"one()").digest()).decode()
    policy = content_policy("<p><script>one()</script><script src='x.js'></script>")
    assert f"script-src 'self' 'unsafe-eval' 'sha256-{digest}';" in policy
    assert policy.count("sha256-") == 1 and policy.endswith("frame-ancestors 'none'")


def test_the_secrets_of_the_log_in_page_are_what_streamlit_asks_for() -> None:
    auth = tomllib.loads(EXAMPLE)["auth"]
    assert set(auth) == set(lab.AUTH)
    assert auth["redirect_uri"].endswith("/oauth2callback")
