"""The ``longwave`` command."""
