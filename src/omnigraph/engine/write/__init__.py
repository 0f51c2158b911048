"""Everything that changes a graph: one evaluator decides whether a change may be, one publisher makes it so.

statements, files or a merge  →  ChangeSet  →  validate  →  rows written once  →  PublishPlan  →  commit
"""
