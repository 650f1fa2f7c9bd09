"""The Python interface, ``import longwave as lw``: layers as plain modules, sweeps, boards, trained networks.

May import: all of longwave, and packages of notebooks when needed; nothing in longwave imports it.
To add: a file with the function or class, and its name in ``longwave.FUNCTIONS``; layers are found automatically, and
``make freeze`` writes ``layers.pyi`` for editors and type checkers.
"""
