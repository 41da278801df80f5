"""SetFit and AdaSent: sentence encoders trained on pairs, then a classifier."""
