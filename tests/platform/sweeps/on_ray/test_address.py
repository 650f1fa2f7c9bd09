"""The address of a cluster is tried before anything else is done."""

from __future__ import annotations

import socket
import time

import pytest

from longwave.platform.errors import ConfigError
from longwave.platform.sweeps.on_ray import client
from longwave.platform.sweeps.on_ray.client import check_address


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "localhost:{}"])
def test_an_address_at_which_somebody_listens_is_taken_and_a_closed_port_is_not(form: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = form.format(server.getsockname()[1])
        check_address(where)
    with pytest.raises(ConfigError, match=f"^No cluster answers at --ray {where}: Connection refused"):
        check_address(where)


@pytest.mark.parametrize("words", ["auto", "local", "anyscale://cluster"])
def test_what_ray_itself_looks_up_is_left_to_it(words: str) -> None:
    check_address(words)


def test_an_address_that_keeps_silent_is_given_up_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.2)
    with socket.socket() as silent, socket.socket() as first:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)  # a place for one who waits, and it is taken
        first.connect(silent.getsockname())
        others = [socket.socket() for _ in range(2)]
        for other in others:
            other.setblocking(False)
            other.connect_ex(silent.getsockname())
        began = time.monotonic()
        with pytest.raises(ConfigError, match="^No cluster answers at .*: timed out"):
            check_address(f"127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - began < 5
        for other in others:
            other.close()
