"""Relatives of LDA that take columns of the documents: labels to answer to, authors, labels that are the topics."""
