"""The reader of CSV and TSV."""
