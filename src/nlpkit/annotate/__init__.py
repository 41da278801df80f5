"""Tasks for people and language models, their answers, agreement, and which texts to label next."""
