"""The content of infra/deploy: its files, parsed; the commands on its pages; processes started by them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import yaml
from tree import ROOT

DEPLOY = ROOT / "infra/deploy"
SCHEMAS = ROOT / "tests/infra/deploy/schemas"
TINY = """
name = "tiny"
task = "adding"
variant = "N=20"
models = ["lem"]
trials = 4
retrain = 2
hidden = 8
batch = 10
steps = 5
epochs = 6
pack = 1
"""
BLOCK = re.compile(r"^([^\n`][^\n]*)\n(?:[^\n`]+\n)*\n```sh\n(.*?)```", re.DOTALL | re.MULTILINE)


def documents(path: str) -> list[dict[str, Any]]:
    """Return the YAML documents of a file of infra/deploy."""
    return [dict(document) for document in yaml.safe_load_all((DEPLOY / path).read_text())]


def blocks(text: str) -> dict[str, str]:
    """Return the commands on a page, by the first words, up to a comma or a full stop, of the text above each."""
    return {re.split(r"[,.:]", above)[0]: commands for above, commands in BLOCK.findall(text)}


def own_environment(**more: str) -> dict[str, str]:
    """Return an environment for separate processes, with this Python's commands and without settings of Ray."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "TUNE_", "LONGWAVE_", "MLFLOW_", "PG"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**env, "PATH": path, "OMP_NUM_THREADS": "1", **more}


def listens(address: str, port: int) -> bool:
    """Return whether a server listens on the port."""
    with suppress(OSError), socket.create_connection((address, port), timeout=5):
        return True
    return False


@contextmanager
def started(commands: str, folder: Path, log: Path, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run commands in the background inside the block; at its end, all processes that they started are ended."""
    with log.open("wb") as out:
        bash = subprocess.Popen(["bash", "-euc", commands], cwd=folder, env=env, stdout=out, stderr=out)
    try:
        yield bash
    finally:
        with suppress(psutil.NoSuchProcess):
            family = [*psutil.Process(bash.pid).children(recursive=True), psutil.Process(bash.pid)]
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGTERM)
            for process in psutil.wait_procs(family, timeout=20)[1]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        bash.wait()
