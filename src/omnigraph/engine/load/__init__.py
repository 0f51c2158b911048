"""Load: files, frames or records, of any size, as one commit.

    source → chunks → parse → typed rows, row rules → set rules → PublishPlan → commit
                         └──────── data files, written as they come ────┘

Every stage is a function of values: a chunk and the types go in, Arrow batches and violations come out. The local runner calls
them from threads (`runner`); other runners (`runners`) call them from other processes, in chunks.

    sources    what was given: which files, frames or records
    naming     what the name of a file says: its format, the type of its rows
    content    what its first bytes say
    lines      bytes into chunks of whole lines
    parse      a chunk into typed rows: `fast` for what is surely right, `exact` for everything else, line by line
    files      CSV, Parquet and Arrow into batches of columns
    precheck   columns before rows
    headers    which columns the rows of a type may have
    frames     columns of files and data frames into typed rows
    identity   ids: from keys, given, or fresh
    collected  what the set rules need of all rows, and which rows stand for the same entity
    chunks   inputs cut into parts that any process can read, and how what comes of them is put together
    quarantine which rows are left out; `records` has them whole, `aside` writes them down
    conclude   set rules, the verdict, the commit: the same for every runner
"""
