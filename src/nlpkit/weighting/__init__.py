"""Term ids to sparse matrices: document-term counts, tf-idf, c-tf-idf."""
