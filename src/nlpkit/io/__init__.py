"""The only code of nlpkit that opens files: readers, Parquet artifacts, run directories."""
