"""What papers print: numbers, names, sources, and which of our rows a number belongs to.

May import: the records and statistics.
To add a number: a line in published.csv (and a migration, however empty, so that stores take it up).
"""
