"""Probes: the memory and time that packs took on devices when they were tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import sqlalchemy as sa

from longwave.platform.records.probe import Probe
from longwave.platform.storage.database import Database, upsert_rows
from longwave.platform.storage.lease_tables import ProbeRow

COLUMNS = ProbeRow.__table__.columns


def read_probes(store: Database) -> list[Probe]:
    """Return all probes, in the order of their keys."""
    with store.reading() as connection:
        return [Probe(**line) for line in connection.execute(sa.select(*COLUMNS).order_by(*COLUMNS)).mappings()]


def write_probes(store: Database, probes: Iterable[Probe]) -> None:
    """Write probes, replacing those with the same number of members.

    If memory ran out, earlier probes of that load on that kind of device are deleted, so that it is probed again.
    """
    with store.transaction() as connection:
        for probe in probes:
            if not probe.fits:
                same_load = (ProbeRow.kind == probe.kind, ProbeRow.shape == probe.shape)
                connection.execute(sa.delete(ProbeRow).where(*same_load, ProbeRow.fits.is_(True)))
            upsert_rows(connection, ProbeRow, [asdict(probe)])
