"""Files that are whole or absent, tables in every usual format, and the run folder."""
