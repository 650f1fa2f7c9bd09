"""Published numbers with their names and sources, and the rows they can be compared with.

May import: errors, paths, records, statistics, and the standard library.
To add a number: a line in published.csv; for a new table a line in tables.csv, which states the statistic of its
numbers and why; for a new model its name in names.csv; for a new source its entry in sources.bib; and a migration,
even if empty, so that stores are updated. ``published_rows`` explains the columns.
"""
