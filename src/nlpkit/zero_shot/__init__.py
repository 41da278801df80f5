"""Labels by their names alone, without training."""
