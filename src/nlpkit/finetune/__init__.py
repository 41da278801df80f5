"""Fine-tuning of transformer encoders: methods, training, few-shot learning, sentence encoders."""
