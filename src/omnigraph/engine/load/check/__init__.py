"""What is wrong with a load as a whole: columns before rows, and rules about sets of rows."""
