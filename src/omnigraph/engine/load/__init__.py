"""Load: files, frames or records, of any size, as one commit.

    source → chunks → parse → typed rows, row rules → set rules → PublishPlan → commit
                         └──────── data files, written as they come ────┘

Every stage is a function of values: a chunk and the types go in, Arrow batches and violations come out. The local runner calls
them from threads (`runner`); other runners (`runners`) call them from other processes, in chunks.

    read       from what was given to typed rows: inputs, a reader per format, and how reading is divided
    check      columns before rows, and rules about sets of rows for loads of any size
    run        a load from request to commit
      runner     reads in threads; `chunked` puts together what other processes read
      removing   who goes when rows delete
      quarantine which rows are left out; `rejected` (in `read`) has them whole, `quarantine_files` writes them down
      conclude   set rules, the verdict, the commit: the same for every runner
"""
