"""Who judges whether a variant says the same, and what that does to the rates: the circularity report."""
