-- What became of the calls of work that nobody watched.

ALTER TABLE slots ADD COLUMN denied_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN failed_calls INTEGER NOT NULL DEFAULT 0;

-- A word of `WorkOutcome`; NULL for iterations that ended before this column.
ALTER TABLE iterations ADD COLUMN outcome TEXT;
ALTER TABLE iterations ADD COLUMN denied_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE iterations ADD COLUMN failed_calls INTEGER NOT NULL DEFAULT 0;
