"""The longwave command: one file per group of commands, imported when one of them is run.

May import: everything.
To add a command: a function in the file of its kind, and its line in commands.py.
Shared options are in app.py and options.py; names.py parses and completes names of models, tasks and sweeps.
"""
