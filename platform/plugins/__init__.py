"""Models and tasks from outside the package: found, read once, named in a namespace of their own, and run.

Three doors lead here: entry points ``longwave.models`` and ``longwave.tasks`` of installed packages, files and folders
that are given, and the files of the data folder's ``plugins/``. Behind them a plugin is its text: that is hashed, the
hash is the version of what it binds, and what is run is a copy kept under that hash. So it travels to workers as it is.

May import: models.base.spec, tasks.base, tasks.cards; of the platform errors, paths and records.
To add a door: a function in doors.py that yields plugins.
"""
