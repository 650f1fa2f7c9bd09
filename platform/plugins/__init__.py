"""Models and tasks from outside the package: found, read once, named in a namespace of their own, and run.

They come from entry points ``longwave.models`` and ``longwave.tasks`` of installed packages, from files and folders
that are given, and from the data folder's ``plugins/``. A plugin is its text: the hash of that is the version of what
it binds, and what is run is a copy kept under that hash. So it travels to workers as it is.

May import: models.base.spec, tasks.base, tasks.cards; of the platform errors, paths and records.
To add a source: a function in discovery.py that yields plugins.
"""
