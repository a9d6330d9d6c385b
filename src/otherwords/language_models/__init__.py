"""Local language models: masked-LMs that fill in words, writers that write texts, encoders that give vectors."""
