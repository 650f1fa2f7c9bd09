"""Published states of all boards: immutable folders with a page that works from a disk.

May import: everything but cli.
To add to the page: site/, drawn from what page.py hands over.
"""
