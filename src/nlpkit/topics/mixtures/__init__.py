"""Topic models in which a document is a mixture of topics: what all of them have in common."""
