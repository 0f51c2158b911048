"""Everything that changes a graph: one evaluator decides whether a change is valid, one publisher commits it.

statements, files or a merge  →  ChangeSet  →  validate  →  rows written once  →  PublishPlan  →  commit
"""
