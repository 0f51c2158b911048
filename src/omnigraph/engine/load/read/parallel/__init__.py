"""How reading is divided: tasks, chunks that any process can work on, and the threads that write their rows."""
