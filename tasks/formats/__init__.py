"""Readers of real file formats and makers of sequences that several tasks use.

May import: torch, torchvision (where it is used), numpy, scipy, longwave.tasks.base, longwave.tasks.formats,
longwave.files; never a task.
To add a format: one file that refuses what breaks its rules with DataError.
"""
