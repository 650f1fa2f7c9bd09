"""What is printed: tables for people, CSV, Markdown, LaTeX and JSON for programs.

May import: everything but editions and cli; rich; what prints to the terminal is in terminal.py alone.
To add a column: not here, in boards/columns.py.
"""
