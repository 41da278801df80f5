"""Figures of texts: size, diversity, the laws of Zipf and Heaps, likeness to other texts."""
