"""Result bundles between machines, and the checks they pass."""
