"""The documentation site, and its pages that are written from the code."""
