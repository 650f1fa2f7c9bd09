"""Published states of all boards: immutable folders with a page that works without a server.

May import: everything but cli.
To add to the page: site/, which displays the data from page.py.
"""
