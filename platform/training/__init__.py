"""One pack of trials, from data to records; needs torch and numpy alone."""
