"""What is done with an input whichever format it has: batches, rejected rows, a proposed schema."""
