"""Numbers that the papers print for GraphCON on citation graphs are those of the form of the authors' code."""

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: the published numbers are written anew after this."""
