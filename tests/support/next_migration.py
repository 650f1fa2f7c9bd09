"""A later version of Longwave, for tests: it has one more migration, which adds a column to the trials."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from longwave.platform.storage import database, upgrade, versions

HEAD, MIGRATIONS = versions.HEAD, upgrade.MIGRATIONS
NEXT = f"{int(HEAD) + 1:04}"
MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = {next!r}, {head!r}, None, None


def upgrade():
    op.add_column("trials", sa.Column("tokens", sa.Integer, nullable=False, server_default="7"))
    op.get_bind().execute(sa.text({then!r}))
"""


def with_next_migration(
    folder: Path, then: str = "SELECT 1", change: Callable[[object, str, object], None] = setattr
) -> None:
    """Turn this process into that version.

    Args:
        folder: Where its migrations are written, unless they exist already.
        then: A statement that the migration executes at its end.
        change: Sets an attribute of a module.
    """
    if not folder.exists():
        shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        text = MIGRATION.format(next=NEXT, head=HEAD, then=then)
        (folder / f"versions/{NEXT}_tokens.py").write_text(text)
    change(upgrade, "MIGRATIONS", folder)
    for module in (versions, upgrade, database):
        change(module, "HEAD", NEXT)
