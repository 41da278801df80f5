"""Documents to embeddings."""
