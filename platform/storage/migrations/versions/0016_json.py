"""PostgreSQL keeps JSON as it is written, as SQLite does: the order of keys, and 1e20 as a float."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

COLUMNS = {
    "catalogue": ("facts",),
    "drivers": ("used", "expected"),
    "environments": ("facts",),
    "sweeps": ("content", "plan"),
    "trials": ("config", "about"),
}


def upgrade() -> None:
    """Change the type of PostgreSQL's columns of JSON. Existing rows keep the order that JSONB gave them."""
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in COLUMNS.items():
            changes = ", ".join(f"ALTER COLUMN {column} TYPE json USING {column}::json" for column in columns)
            op.execute(f"ALTER TABLE {table} {changes}")  # rewritten once
