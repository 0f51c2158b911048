"""Public calls: arguments are checked before anything is done, and errors are ours."""
