"""Boards: from records and published numbers to ranked rows, overviews and comparisons. Pure functions.

May import: records, statistics, literature, wording; no store, no torch.
To add a column to every view: one line in columns.py.
"""
