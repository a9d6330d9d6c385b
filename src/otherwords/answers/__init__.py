"""The answers table: how it is read, which rows play which role, and what models have in common."""
