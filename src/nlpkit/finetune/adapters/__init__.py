"""Small parts that are trained while the rest is frozen."""
