"""Operations, one module each: what somebody may want of a graph."""
