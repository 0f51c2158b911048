"""The rules of a schema, one per module. Each looks at a change against what is committed and gives every violation it finds.

values        types, required values, enums, ranges, patterns: about a row alone
size          an entity fits into a line
identity      entities that must be new
unique        values that only one entity of a type may have
endpoints     both ends of an edge exist; a node that goes leaves no edge behind
cardinality   how many edges of a type a source may have
"""
