"""Data of your own: a card (TOML) beside CSV, Parquet, NPZ or .ts files becomes a task.

The card says everything that the shape of a task depends on, so a task is there without a look at its data; what the
data hold is checked against the card when they are read. Nothing here is imported before there is a card.

May import: torch, numpy, pydantic, pyarrow, pandas, longwave.tasks.base, longwave.tasks.formats,
longwave.tasks.trivial, longwave.tasks.cards, longwave.files.
To add a format: a reader in arrays.py, its word in ``card.ENDINGS`` and ``Card.format``, and in ``reading.READERS``.
"""
