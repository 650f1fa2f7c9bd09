"""An object store that answers late, twice or with an older version costs epochs that are trained again, no result."""

from __future__ import annotations

import io
import random
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from packs import PackRecorder, trained, trial

from longwave.platform.errors import ConfigError
from longwave.platform.paths import make_ready, to_path
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.train import train

CONFIGS = [trial(seed=k) for k in range(2)]


class LateStore(MemoryFileSystem):
    """Does what it is asked to write late, or once more later, or reads what was there before.

    ``fault`` says which, and ``draw`` when; with ``fault`` "" it is as others are.
    """

    protocol = "late"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]
    fault, draw = "", random.Random(0)
    coming: list[tuple[Callable[[], object]]] = []
    older: dict[str, bytes] = {}

    def pipe_file(self, path: str, value: bytes, **options: Any) -> None:
        self.let_some_come()
        if self.exists(path):
            self.older[path] = super().cat_file(path)
        self.write(lambda: MemoryFileSystem.pipe_file(self, path, value, mode="overwrite"))

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        self.let_some_come()
        if not self.exists(path1):
            raise FileNotFoundError(path1)
        value = super().cat_file(path1)
        self.write(lambda: MemoryFileSystem.pipe_file(self, path2, value, mode="overwrite"))

    def write(self, change: Callable[[], object]) -> None:
        if self.fault != "late":
            change()
        if self.fault in ("late", "twice"):
            self.coming.append((change,))

    def let_some_come(self) -> None:
        """Do some of what is still to be done, in any order."""
        while self.coming and self.draw.random() < 0.5:
            self.coming.pop(self.draw.randrange(len(self.coming)))[0]()

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        self.let_some_come()
        if "r" in mode and self.fault == "older" and path in self.older and self.draw.random() < 0.5:
            return io.BytesIO(self.older[path])
        return super()._open(path, mode, **options)

    def cat_file(self, path: str, **options: Any) -> bytes:
        with self._open(self._strip_protocol(path)) as file:
            return bytes(file.read())


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    fsspec.register_implementation("late", LateStore, clobber=True)
    yield
    LateStore.fault, LateStore.coming, LateStore.older, LateStore.store = "", [], {}, {}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", ["late", "twice", "older"])
def test_a_pack_that_is_paused_often_ends_as_one_that_never_was(
    fault: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    whole, events, draw = trained(CONFIGS), PackRecorder(), random.Random(seed)
    file = Checkpoint(to_path(f"late://{secrets.token_hex(4)}") / "pack.safetensors")
    LateStore.fault, LateStore.draw = fault, draw
    pauses = 0
    while True:
        steps, last = iter(range(1000)), draw.randrange(2, 6)
        if train(CONFIGS, events, file, draining=lambda: next(steps) == last) == "over":  # noqa: B023
            break
        pauses += 1
        assert pauses < 200
    assert pauses > 2 and all(began.keys() == {c.id for c in CONFIGS} for began in events.began)
    for config in CONFIGS:
        assert set(events.curve(config)) == set(whole.curve(config)), "no epoch was ever another"
        assert events.run(config).valid == whole.run(config).valid


def test_one_that_does_not_give_what_was_just_put_is_refused_in_a_line() -> None:
    LateStore.fault, LateStore.draw = "late", random.Random(0)
    with pytest.raises(ConfigError, match="^Checkpoints cannot be kept at late://x: .+$") as caught:
        make_ready(to_path("late://x"))
    assert "\n" not in str(caught.value)
