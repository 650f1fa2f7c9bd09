"""The longwave command: one file a group of commands, heavy imports inside them.

May import: everything.
To add a command: a function with @app.command() in the file of its kind; main.py imports the files.
Options that several commands take are in app.py; names.py takes and completes names of models, tasks and sweeps.
"""
