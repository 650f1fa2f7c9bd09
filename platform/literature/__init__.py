"""What papers print: numbers, names, sources, and which of our rows a number belongs to.

May import: errors, paths, records, statistics; the standard library beside them.
To add a number: a line in published.csv, for a new table one in tables.csv, which says why its numbers are called what
they are, for a new model its name in names.csv, for a new source its entry in sources.bib; and a migration, however
empty, so that stores take it up. ``published_rows`` says what the columns are.
"""
