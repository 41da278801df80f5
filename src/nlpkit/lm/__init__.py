"""N-gram language models, texts that models write, and spelling."""
