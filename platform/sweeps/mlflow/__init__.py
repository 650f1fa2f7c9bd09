"""A copy of the store's trials on an MLflow server.

May import: storage; MLflow in server.py alone.
To add a tag or a parameter: contents.py.
"""
