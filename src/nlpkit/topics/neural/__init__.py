"""Neural topic models: variational autoencoders whose decoder holds the topics."""
