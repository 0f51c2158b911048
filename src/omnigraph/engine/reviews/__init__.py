"""Reviews: a branch that somebody asks to be merged, what others say about it, and its merge.

review      what people see of a review
verdicts    what follows from its events: who has approved what, what state that makes, whether it may be merged
front       `g.reviews`
"""
