"""One file per paper: its protocol, the values it printed (beside it, as a table), and where they deviate."""
