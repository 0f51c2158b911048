"""The reader of Parquet and Arrow, and columns of whatever origin into typed rows."""
