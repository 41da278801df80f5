"""Which texts to label next."""
