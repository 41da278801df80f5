"""Documents similar to a text, or to each other."""
