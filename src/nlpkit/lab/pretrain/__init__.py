"""Training of a language model from scratch."""
