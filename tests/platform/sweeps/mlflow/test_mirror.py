"""What a tracking server was sent is read back from it; what it lost is sent again; nothing is there twice."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from mirrors import attempt, config, ended, fill, nonsense, points

from longwave.platform.errors import StoreError
from longwave.platform.redaction import redacted
from longwave.platform.storage.outbox import Delivery, Outbox, PendingTrial
from longwave.platform.storage.schema import DeliveryRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.mlflow import background, server
from longwave.platform.sweeps.mlflow.contents import Tracked, is_same_number, params_of, tags_of, what_is_missing
from longwave.platform.sweeps.mlflow.mirror import Upload, sync
from longwave.platform.sweeps.mlflow.server import MirrorError, TrackingServer

OpenStore = Callable[[str], Store]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*:sqlalchemy.exc.SADeprecationWarning"),
]
NONSENSE = {
    "{}": (200, "application/json", b"{}"),
    "500": (500, "application/json", b'{"error_code": "INTERNAL_ERROR", "message": "down\\nfor now"}'),
    "HTML": (200, "text/html", b"<html><body>Please log in</body></html>"),
    "nothing": (200, "application/json", b""),
    "a list": (200, "application/json", b"[]"),
    "404": (404, "text/plain", b"not here"),
}


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Let what MLflow leaves open be collected here, where its warnings are ignored; what stays is looked at once."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole MLflow file with nothing in it."""
    file = tmp_path_factory.mktemp("blank") / "blank.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TrackingServer(f"sqlite:///{file}")
    return file


@pytest.fixture
def file(blank: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(blank, tmp_path / "mlflow.db"))


def there(file: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the validation curves that show in MLflow's file, by trial; each trial has one run."""
    query = (
        "SELECT t.value, r.run_uuid, m.step, m.value FROM runs r JOIN tags t USING (run_uuid) "
        "LEFT JOIN metrics m ON m.run_uuid = r.run_uuid AND m.key = 'valid_mse' "
        "WHERE r.lifecycle_stage = 'active' AND t.key = 'longwave.trial' ORDER BY m.step"
    )
    actual: dict[str, list[tuple[int, float]]] = {}
    runs: dict[str, str] = {}
    with closing(sqlite3.connect(file)) as connection:
        for trial, run, step, value in connection.execute(query):
            assert runs.setdefault(trial, run) == run, "a trial has two MLflow runs"
            actual.setdefault(trial, []).append((step, value))
    return actual


def here(store: Store) -> dict[str, list[tuple[int, float]]]:
    """Return the store's validation curves, by trial."""
    actual: dict[str, list[tuple[int, float]]] = {}
    for point in store.curves([line.config.id for line in store.retrainings()]):
        actual.setdefault(point.trial, []).append((point.epoch, point.valid))
    return actual


def statuses(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {status for (status,) in connection.execute("SELECT status FROM runs WHERE lifecycle_stage = 'active'")}


@pytest.mark.parametrize("answer", NONSENSE)
def test_a_server_that_answers_nonsense_is_one_line_that_says_how_far_the_copy_is_and_nothing_is_noted(
    store: Store, answer: str
) -> None:
    fill(store, 3, 2)
    with nonsense(*NONSENSE[answer]) as url, pytest.raises(MirrorError, match="0 of 3 trials sent$") as caught:
        sync(store, url)
    assert "\n" not in str(caught.value) and Outbox(store, url).deliveries() == []


def test_a_run_is_named_after_its_model_its_phase_and_six_letters_of_its_trial(store: Store, file: Path) -> None:
    [config] = fill(store, 1, 2)
    assert sync(store, f"sqlite:///{file}") == 1
    with closing(sqlite3.connect(file)) as connection:
        assert list(connection.execute("SELECT name FROM runs")) == [("lem retrain " + config.id[:6],)]


def test_a_server_that_forgets_what_it_was_sent_is_not_believed(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [first, *_] = fill(store, 2, 2)
    monkeypatch.setattr(TrackingServer, "send", lambda *_: None)
    with pytest.raises(MirrorError, match=f"does not keep .* lacks its .* of trial {first.id}; 0 of 2 trials sent"):
        sync(store, f"sqlite:///{file}")
    monkeypatch.undo()
    assert sync(store, f"sqlite:///{file}") == 2 and there(file) == here(store)


@pytest.mark.parametrize(
    "damage", ["UPDATE metrics SET value = 7 WHERE step = 1", "DELETE FROM metrics WHERE step = 1"]
)
def test_a_curve_that_arrives_otherwise_than_it_was_sent_is_sent_again_in_a_new_run(
    store: Store, file: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, 2, 3)
    real, once = TrackingServer.read, iter([True])

    def read(self: TrackingServer, runs: list[str]) -> object:
        if next(once, False):
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute(damage)
        return real(self, runs)

    monkeypatch.setattr(TrackingServer, "read", read)
    assert sync(store, f"sqlite:///{file}") == 2
    assert there(file) == here(store) and statuses(file) == {"FINISHED"}


@pytest.mark.integration
def test_what_a_server_lost_is_found_by_search_and_sent_again(store: Store, file: Path, blank: Path) -> None:
    configs, url = fill(store, 5, 2), f"sqlite:///{file}"
    assert (sync(store, url), sync(store, url)) == (5, 0)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid IN (SELECT run_uuid FROM tags WHERE value = ?)",
            (configs[2].id,),
        )
    assert (sync(store, url), sync(store, url)) == (1, 0)
    assert there(file) == here(store)
    file.unlink()
    assert sync(store, url) == 5 and there(file) == here(store)
    shutil.copy(blank, file)  # an empty server in the place of the one that was
    assert (sync(store, url), sync(store, url)) == (5, 0)
    assert there(file) == here(store)


@pytest.mark.integration
def test_a_live_mirror_whose_file_is_deleted_makes_another(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "SECONDS", 0.05)
    monkeypatch.setattr(background, "LAST_SECONDS", 120.0)
    [first, second] = fill(store, 2, 2)
    mirror = background.Mirror(f"sqlite:///{file}")
    with mirror.following(store):
        until = time.monotonic() + 60
        while len(Outbox(store, f"sqlite:///{file}").deliveries()) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        file.unlink()
        attempt(store, first, 1, 1, 2, 0.5, over=True)
    assert sync(store, f"sqlite:///{file}") in (0, 1) and there(file) == here(store) and mirror.problem == ""


@pytest.mark.integration
@pytest.mark.parametrize("state", ["half made", "damaged", "no file of SQLite", "empty"])
def test_a_broken_file_is_kept_aside_and_made_anew(store: Store, file: Path, state: str) -> None:
    fill(store, 2, 2)
    url, aside = f"sqlite:///{file}", file.with_name("mlflow.broken-2.db")
    file.with_name("mlflow.broken-1.db").write_text("of another day")
    sync(store, url)
    if state == "half made":
        file.unlink()
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT)")
            connection.execute("CREATE TABLE runs (run_uuid TEXT, nonsense TEXT)")
    elif state == "damaged":
        content = bytearray(file.read_bytes())
        content[4096 : len(content) // 2] = bytes(len(content) // 2 - 4096)
        file.write_bytes(content)
    else:
        file.write_bytes(b"" if state == "empty" else b"not a database, at all" * 100)
    broken = file.read_bytes()
    assert sync(store, url) == 2 and there(file) == here(store)
    assert aside.read_bytes() == broken if state != "empty" else not aside.exists()
    assert file.with_name("mlflow.broken-1.db").read_text() == "of another day"


def test_a_file_that_holds_something_else_is_refused_and_left_alone(store: Store, tmp_path: Path) -> None:
    fill(store, 1, 2)
    with pytest.raises(MirrorError, match="holds tables of something else than MLflow. Name another with --server"):
        sync(store, f"sqlite:///{tmp_path}/store.db")
    assert server.is_of_another_program(tmp_path / "store.db")


def test_an_older_mlflow_file_with_runs_is_not_taken_for_a_broken_one(store: Store, file: Path) -> None:
    fill(store, 1, 2)
    sync(store, f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")
    assert server.find_fault(file, opens=False) == ""


@pytest.mark.parametrize("over", [False, True])
def test_a_trial_that_is_trained_again_shows_the_curve_of_its_last_attempt_alone(
    store: Store, file: Path, over: bool
) -> None:
    [first, second, third], url = fill(store, 3, 4), f"sqlite:///{file}"
    sync(store, url)
    attempt(store, first, 1, 0, 1, 0.5, over=False)
    attempt(store, second, 1, 2, 3, 0.5, over=False)
    assert sync(store, url) == 2 and there(file) == here(store) and statuses(file) == {"FINISHED", "RUNNING"}
    attempt(store, second, 2, 3, 4, 0.5, over)  # goes on where it was: the run stays
    attempt(store, third, 1, 0, 0, 0.5, over=False)
    assert sync(store, url) == 2
    want = here(store) | {third.id: [(None, None)]}
    assert there(file) == want and sync(store, url) == 0
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM runs WHERE lifecycle_stage = 'deleted'").fetchone() == (3,)


def test_two_mirrors_at_once_send_every_trial_once(store: Store, file: Path, tmp_path: Path) -> None:
    fill(store, 6, 2)
    both = [forked(tmp_path / "store.db", file) for _ in range(2)]
    assert sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in both) == [0, 6]
    assert there(file) == here(store)


@pytest.mark.parametrize("any_store_url", ["sqlite", "postgresql"], indirect=True)
def test_one_process_at_a_time_holds_the_outbox_of_a_server(any_store_url: str, open_store: OpenStore) -> None:
    one, two = (Outbox(open_store(any_store_url), "http://server") for _ in range(2))
    with one.lock() as check:
        check()
        with (
            pytest.raises(StoreError, match="Another process sends the trials of this store to http://server"),
            two.lock(),
        ):
            pass
        with Outbox(two.store, "http://another").lock():
            pass
    with two.lock(wait=10.0):  # PostgreSQL ends a session a moment after its client
        pass


@pytest.mark.parametrize("any_store_url", ["sqlite", "postgresql"], indirect=True)
def test_the_outbox_says_what_is_left_and_how_far_it_is(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    first, second, third = fill(store, 3, 4)
    outbox = Outbox(store, "s")
    assert [w.trial.config.id for w in outbox.pending("", 2)] == [first.id, second.id]
    assert [w.trial.config.id for w in outbox.pending(second.id, 2)] == [third.id] and outbox.progress() == (0, 3)
    outbox.write_deliveries([Delivery(c.id, "r", 4, True) for c in (first, second)])
    assert [w.trial.config.id for w in outbox.pending("", 9)] == [third.id] and outbox.progress() == (2, 3)
    attempt(store, first, 1, 2, 3, 0.5, over=False)
    [again, _] = outbox.pending("", 9)
    assert (again.attempt, again.sent, again.run, again.superseded) == (1, 4, "r", True)
    assert list(again.points) == points(first, 2) + points(first, 3, 0.5)[2:]
    outbox.write_deliveries([Delivery(first.id, "r2", 3, False, 1)])
    assert [w.trial.config.id for w in outbox.pending("", 9)] == [third.id]
    outbox.reset([first.id])
    assert outbox.pending("", 1)[0].sent == 0 and len(outbox.deliveries()) == 2


def test_a_password_is_neither_noted_nor_shown(store: Store) -> None:
    fill(store, 1, 2)
    with nonsense(*NONSENSE["{}"]) as url:
        secret = url.replace("http://", "http://me:s3/cr@t@")
        with pytest.raises(MirrorError) as caught:
            sync(store, secret)
        with Upload(store, secret) as mailing:
            mailing.outbox.write_deliveries([Delivery(config(1, 2).id, "r", 1, False)])
    with store.reading() as connection:
        noted = connection.scalars(sa.select(DeliveryRow.server)).all()
    assert noted == [url.replace("http://", "http://***@")] and "s3" not in f"{caught.value}{noted}"


@given(st.text(st.characters(exclude_categories=("Z", "C")), min_size=1))
def test_no_part_of_a_password_is_shown(password: str) -> None:
    assert redacted(f"at http://me:{password}@host:1 now") == "at http://***@host:1 now"


@given(st.floats())
def test_a_number_that_comes_back_is_the_same_and_infinity_may_be_the_largest(value: float) -> None:
    assert is_same_number(value, value) and not is_same_number(1.0, 1.0 + 1e-9)
    assert is_same_number(float("inf"), 1.7976931348623157e308) and not is_same_number(
        float("inf"), -1.7976931348623157e308
    )


def forked(path: Path, file: Path) -> int:
    """Copy in a process of its own, which ends with the number of trials it sent; return its id."""
    if pid := os.fork():
        return pid
    try:
        with Store(f"sqlite:///{path}") as store:
            os._exit(sync(store, f"sqlite:///{file}"))
    finally:
        os._exit(255)


@pytest.mark.integration
@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_copies_killed_at_any_moment_leave_no_doubles_and_brick_nothing(
    store: Store, blank: Path, tmp_path: Path, kills: int
) -> None:
    fill(store, 12 * kills, 2)
    file, moments = tmp_path / "new/mlflow.db", random.Random(kills)
    for k in range(kills):
        made = file.exists()
        pid = forked(tmp_path / "store.db", file)
        until = time.monotonic() + 60
        while k % 2 and not made and not file.exists() and time.monotonic() < until:
            time.sleep(0.005)  # every other one dies after the file is made, the others mostly before
        time.sleep(moments.uniform(0, 1.5))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert not file.exists() or there(file) is not None
    sync(store, f"sqlite:///{file}")
    assert there(file) == here(store) and statuses(file) == {"FINISHED"}
    assert sync(store, f"sqlite:///{file}") == 0 and not list(file.parent.glob("*.broken-*"))


@pytest.mark.parametrize("status", ["RUNNING", "FAILED", "SCHEDULED", "KILLED"])
def test_a_run_with_another_status_than_its_trial_lacks_its_state(status: str) -> None:
    waiting = PendingTrial(ended(config(1)), ())
    run = Tracked("r", config(1).id, status, tags_of(waiting), params_of(waiting), {})
    assert what_is_missing(waiting, run) == "its state"
    assert what_is_missing(waiting, replace(run, status="FINISHED")) != "its state"
