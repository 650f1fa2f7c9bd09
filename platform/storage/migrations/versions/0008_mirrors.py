"""What a tracking server was sent of which attempt; servers are named without their passwords."""

import sqlalchemy as sa
from alembic import op

from longwave.platform.redaction import redacted

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and rename the servers; two that differ in the password alone are one, with a row a trial."""
    op.add_column("mirrored", sa.Column("attempt", sa.Integer(), nullable=False, server_default="0"))
    connection = op.get_bind()
    for (old,) in connection.execute(sa.text("SELECT DISTINCT server FROM mirrored")).all():
        names = {"old": old, "new": redacted(old)}
        if names["new"] != old:
            doubles = "DELETE FROM mirrored WHERE server = :old AND trial IN (%s)"
            there = "SELECT trial FROM mirrored WHERE server = :new"
            connection.execute(sa.text(doubles % there), names)
            connection.execute(sa.text("UPDATE mirrored SET server = :new WHERE server = :old"), names)
