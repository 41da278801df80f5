"""From labelled documents to predictions: models that are fitted, calibrated, kept as plain arrays and applied again."""
