"""Features of texts as columns of a table: counts, readability, lexicon words."""
