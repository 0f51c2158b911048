"""From what was given to typed rows: files, frames, records.

rows         typed rows, and what each says of an entity
inputs       what was given, and what its name and first bytes say
conversion   values and columns into the types of properties
json_lines   JSON lines                                 ┐
columnar     Parquet, Arrow, and columns of any origin  │ readers, none of which knows another
delimited    CSV, TSV                                   ┘
any_format   whichever reader it takes
parallel     tasks and chunks: how reading is divided
"""
