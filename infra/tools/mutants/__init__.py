"""Mutation testing: broken lines, and the tests that should notice them."""
