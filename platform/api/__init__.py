"""The Python door, ``import longwave as lw``: layers as plain modules, sweeps, boards, trained networks.

May import: all of longwave, and what a notebook has, when it is needed; nothing of longwave imports it.
To add: a file with the function or class, and its name in ``longwave.DOORS``; layers are found by themselves, and
``make freeze`` writes what editors and type checkers read of them, ``layers.pyi``.
"""
