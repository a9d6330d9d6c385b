"""Which variants may count: checks that keep or drop a variant, and say why."""
