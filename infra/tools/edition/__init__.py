"""An edition of the board: its training, its bundles, its pages and its report."""
