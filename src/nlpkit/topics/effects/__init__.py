"""Effects of columns of documents on topics, for runs of any topic model."""
