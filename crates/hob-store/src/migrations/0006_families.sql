-- Runs that were started by other runs.

-- The run that started it. No foreign key: it may be deleted with its session.
ALTER TABLE runs ADD COLUMN parent BLOB;
-- The session its model calls are counted for, when it is not the one it works on.
ALTER TABLE runs ADD COLUMN payer INTEGER;

CREATE INDEX runs_parent ON runs (parent) WHERE parent IS NOT NULL;
