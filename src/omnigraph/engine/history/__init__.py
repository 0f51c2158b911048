"""The history of a graph: diff, change feed, merge and revert.

row_delta   rows of one type that differ between two states: the value everything here is made of
deltas      how they are found: from the fragments that two pins do not share, commit by commit where a table was rewritten
changes     changes of entities, in their frozen order, with filters
diff        two states compared
blocks      one commit against its first parent
feed        commits in order, with cursors; baselines
three_way   what both sides did to each entity, decided
merge       a branch into another; conflicts, previews, resolutions
revert      a commit undone
"""
