"""Documents to sentence embeddings."""
