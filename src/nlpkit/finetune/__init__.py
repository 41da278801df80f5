"""Fine-tuning of transformers: methods, training, few-shot learning, sentence encoders."""
