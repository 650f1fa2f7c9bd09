"""What packs took of devices when they were tried."""

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
    """Write probes, each in place of one of as many members.

    Where memory ran out, what was found before for the load on that kind of device is forgotten: it is probed anew.
    """
    with store.transaction() as connection:
        for probe in probes:
            if not probe.fits:
                mine = (ProbeRow.kind == probe.kind, ProbeRow.shape == probe.shape)
                connection.execute(sa.delete(ProbeRow).where(*mine, ProbeRow.fits.is_(True)))
            upsert_rows(connection, ProbeRow, [asdict(probe)])
