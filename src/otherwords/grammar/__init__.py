"""How English sentences are built: dependency parses, and what may be put in another order without another meaning."""
