"""Networks for sequences of tokens, in the letters of their papers."""
