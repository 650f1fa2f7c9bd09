"""Statistics of boards: plain numbers in and out."""
