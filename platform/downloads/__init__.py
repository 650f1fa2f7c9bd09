"""Fetching and unpacking the data sets that tasks name.

May import: tasks, errors, paths; pooch, filelock.
To add a data set: in its task's file; here only what all downloads share.
"""
