"""The topics of a run over time and by group, their documents and words."""
