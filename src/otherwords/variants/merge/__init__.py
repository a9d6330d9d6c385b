"""MERGE (Zgreaban et al. 2025): from shared words to suggestions of masked-LMs, agreed on, and to variants."""
