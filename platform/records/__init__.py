"""Plain records: what was planned, what happened, and what boards are made of.

May import: only the standard library.
To add a field of a trial: one line with a default in trial.py; no id changes.
"""
