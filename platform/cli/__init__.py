"""The longwave command: one file a group of commands, imported once one of them is run.

May import: everything.
To add a command: a function in the file of its kind, and its line in commands.py.
Options that several commands take are in app.py and options.py; names.py takes and completes names of models, tasks and
sweeps.
"""
