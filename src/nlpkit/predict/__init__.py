"""New documents and a saved model: their columns."""
