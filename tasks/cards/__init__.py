"""Users' data: CSV, Parquet, NPZ or .ts files with a card (TOML) become a task.

The card states everything that determines the shape of a task, so it is known without reading the data, which are
checked against the card when they are read. Nothing here is imported unless there is a card.

May import: torch, numpy, pydantic, pyarrow, pandas, longwave.tasks.base, longwave.tasks.formats,
longwave.tasks.trivial, longwave.tasks.cards, longwave.files, longwave.rules.
To add a format: a reader in arrays.py, its name in ``card.ENDINGS`` and ``Card.format``, and in ``reading.READERS``.
"""
