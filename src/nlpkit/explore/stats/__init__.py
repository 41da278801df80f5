"""How big a corpus is, which words it has, and the laws of Zipf and Heaps."""
