"""Training of the model itself: a sentence encoder, or a causal model that answers."""
