"""Boards: from records and published numbers to ranked rows, overviews, comparisons. Pure functions.

May import: records, statistics, literature; no store, no torch.
To add a column of every view: one line in columns.py.
"""
