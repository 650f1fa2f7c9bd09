"""Readers of file formats, and generators of sequences for several tasks.

May import: torch, torchvision (where it is used), numpy, scipy, longwave.tasks.base, longwave.tasks.formats,
longwave.files; never a task.
To add a format: one file that refuses what breaks its rules with DataError.
"""
