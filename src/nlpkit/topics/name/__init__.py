"""Names of topics by phrases, by people, or by a language model."""
