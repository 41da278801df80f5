"""How good topics are: coherence, diversity, stability, separation, intrusion."""
