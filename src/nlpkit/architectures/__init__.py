"""Networks for sequences of tokens, in the letters of their papers; transformers loads them by its Auto classes."""
