"""Training from scratch: tokenizers of subwords, and language models on them."""
