"""Documents on a scale: Wordscores, Wordfish, latent semantic scaling, correspondence analysis, an axis in embedding space."""
