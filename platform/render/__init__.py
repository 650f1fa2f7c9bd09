"""Printed output: tables for people, CSV, Markdown, LaTeX and JSON for programs.

May import: everything but editions and cli; rich. Only terminal.py prints to the terminal.
To add a column: not here, in boards/columns.py.
"""
