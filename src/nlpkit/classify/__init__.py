"""From labelled documents to predictions: features, models, decisions, scores."""
