"""What reading, looking up and building take, and which way is taken. Knows numbers only."""
