"""PET, PETapter, T-Few and masked language models: texts as sentences with a gap."""
