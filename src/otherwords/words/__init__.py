"""What is known of words: WordNet, tags, inflection, and the words that carry a label."""
