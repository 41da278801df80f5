"""N-gram language models: counts, smoothing, probabilities of sentences, generated text."""
