"""Teaching material: networks from scratch, tokenizers, attention, the transformer by hand."""
