"""How problems are put in other words: generators of variants."""
