"""Downloading and unpacking the data sets of tasks.

May import: tasks, errors, paths; pooch, filelock.
To add a data set: in the file of its task. Only what all downloads share is here.
"""
