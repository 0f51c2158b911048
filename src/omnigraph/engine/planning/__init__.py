"""From the pipeline of a checked read to the steps that answer it."""
