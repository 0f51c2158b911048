"""Values everything else is made of: property types, ids, clocks, limits, versions. No meaning of its own, no I/O."""
