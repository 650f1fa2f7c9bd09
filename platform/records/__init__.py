"""Plain records: what was planned, what happened, and what boards are made of.

May import: errors, redaction and wording, and no library.
To add a field of a trial: one line with a default in trial.py; no id changes.
"""
