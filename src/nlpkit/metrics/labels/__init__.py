"""Predicted labels, numbers and spans against true ones."""
