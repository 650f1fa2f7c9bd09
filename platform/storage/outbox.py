"""What a tracking server was sent of a store, and what it was not: the store is the outbox of its mirrors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy.orm import Session

from longwave.platform.errors import StoreError
from longwave.platform.records.identity import digest
from longwave.platform.records.run import ENDED, Point
from longwave.platform.records.stored import Trial
from longwave.platform.storage import rows
from longwave.platform.storage.database import upsert_rows
from longwave.platform.storage.in_clause import split_ids
from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.queries import Queries
from longwave.platform.storage.schema import CurveRow, DeliveryRow, TrialRow

LOCK = 7011984
"""Class of the advisory locks that mirrors take in PostgreSQL."""


@dataclass(frozen=True)
class Delivery:
    """What a server has of a trial: the run there, its last epoch, whether it has the end, and of which attempt."""

    trial: str
    run: str
    epoch: int
    closed: bool
    attempt: int = 0


@dataclass(frozen=True)
class PendingTrial:
    """A trial with news for a server.

    Attributes:
        trial: As it stands.
        points: All its epochs that stand.
        attempt: Number of its last attempt; 0 where none is recorded.
        sent: The last epoch that the server has.
        run: Its run there, if there is one.
        superseded: Whether that run holds epochs, or an end, of an attempt that a later one took the place of.
    """

    trial: Trial
    points: Sequence[Point]
    attempt: int = 0
    sent: int = 0
    run: str | None = None
    superseded: bool = False


class Outbox:
    """What is left to send to one server.

    Args:
        store: The truth.
        server: Name of the server, without a password.
    """

    def __init__(self, store: Queries, server: str) -> None:
        self.store, self.server = store, server

    @contextmanager
    def lock(self, wait: float = 0.0) -> Iterator[Callable[[], Any]]:
        """Let this process alone mirror the store to the server; the lock ends with the process, however it ends.

        Gives what is called before each round: it raises where the lock was lost with its connection.

        Args:
            wait: Seconds to wait for another process that has the lock.

        Raises:
            StoreError: It has it still.
        """
        busy = StoreError(f"Another process sends the trials of this store to {self.server} now.")
        name, engine = digest({"server": self.server}), self.store.engine
        if engine.dialect.name == "sqlite":
            lock = FileLock(f"{engine.url.database}.mirror-{name[:8]}.lock", timeout=wait)
            try:
                lock.acquire()
            except Timeout:
                raise busy from None
            try:
                yield lambda: None
            finally:
                lock.release()
            return
        with self.store.errors():
            connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()  # the lock lives as long as the connection: closing it is to end it
        try:
            self._query(connection, f"SELECT set_config('lock_timeout', '{int(wait * 1000) + 1}ms', false)")
            try:
                connection.execute(sa.text(f"SELECT pg_advisory_lock({LOCK}, {int(name[:7], 16)})"))
            except sa.exc.OperationalError:
                raise busy from None
            yield lambda: self._query(connection, "SELECT 1")
        finally:
            connection.close()

    def pending(self, after: str, limit: int) -> list[PendingTrial]:
        """Return up to ``limit`` trials with news, by id, from behind the id ``after`` on."""
        query = _news_query(self.server).where(TrialRow.id > after).order_by(TrialRow.id).limit(limit)
        with self.store.errors(), Session(self.store.engine) as session:
            lines = [(rows.to_trial(line[0], None), *line[1:]) for line in session.execute(query)]
        curves: dict[str, list[Point]] = {}
        for point in self.store.curves([line[0].config.id for line in lines]):  # read last: newer than the attempt
            curves.setdefault(point.trial, []).append(point)
        pending = []
        for trial, run, sent, closed, attempt, stands in lines:
            superseded = stands is not None and run is not None and (closed or sent > stands)
            points = curves.get(trial.config.id, [])
            pending.append(PendingTrial(trial, points, attempt or 0, sent or 0, run, superseded))
        return pending

    def write_deliveries(self, deliveries: Iterable[Delivery]) -> None:
        """Write what the server has, in place of what was written before."""
        rows = [{**asdict(delivery), "server": self.server} for delivery in deliveries]
        with self.store.transaction() as connection:
            upsert_rows(connection, DeliveryRow, rows)

    def deliveries(self) -> list[Delivery]:
        """Return what the server is believed to have."""
        m = DeliveryRow
        query = sa.select(m.trial, m.run, m.epoch, m.closed, m.attempt).where(m.server == self.server)
        with self.store.reading() as connection:
            return [Delivery(*line) for line in connection.execute(query)]

    def reset(self, trials: Sequence[str]) -> None:
        """Note that nothing of these trials is there; all of it is to be sent again."""
        with self.store.transaction() as connection:
            for part in split_ids(trials):
                key = sa.and_(DeliveryRow.trial.in_(part), DeliveryRow.server == self.server)
                connection.execute(sa.update(DeliveryRow).where(key).values(epoch=0, closed=False))

    def progress(self) -> tuple[int, int]:
        """Return how many trials the server has whole, as far as they are trained, and how many there are to have."""
        begun = sa.exists().where(CurveRow.trial == TrialRow.id)
        every = sa.select(sa.func.count(TrialRow.id)).where(sa.or_(TrialRow.status.in_(ENDED), begun))
        behind = sa.select(sa.func.count()).select_from(
            _news_query(self.server).with_only_columns(TrialRow.id).subquery()
        )
        with self.store.reading() as connection:
            total = connection.scalar(every) or 0
            return total - (connection.scalar(behind) or 0), total

    def _query(self, connection: sa.Connection, query: str) -> Any:
        with self.store.errors():
            return connection.scalar(sa.text(query))


def _news_query(server: str) -> sa.Select[Any]:
    """Return the query of the trials with news for ``server``, each with what is recorded of it and its attempts."""
    m, a = DeliveryRow, AttemptRow
    later = sa.and_(a.trial == TrialRow.id, a.number > sa.func.coalesce(m.attempt, 0))
    newest = sa.select(sa.func.max(a.number)).where(a.trial == TrialRow.id).scalar_subquery()
    stands = sa.select(sa.func.min(a.epoch)).where(later, m.trial.is_not(None)).scalar_subquery()
    newer = sa.exists().where(CurveRow.trial == TrialRow.id, CurveRow.epoch > sa.func.coalesce(m.epoch, 0))
    open_there = sa.func.coalesce(m.closed, sa.false()).is_(False)
    return (
        sa.select(TrialRow, m.run, m.epoch, m.closed, newest, stands)
        .outerjoin(m, sa.and_(m.trial == TrialRow.id, m.server == server))
        .where(
            sa.or_(
                sa.and_(open_there, sa.or_(TrialRow.status.in_(ENDED), newer)),
                sa.and_(m.trial.is_not(None), sa.exists().where(later)),
            )
        )
    )
