"""Weights of terms in documents and classes: tf-idf, BM25, c-tf-idf, keyness, LSA."""
