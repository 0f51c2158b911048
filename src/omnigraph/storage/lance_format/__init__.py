"""What we know of Lance's own files and encodings, and nowhere else."""
