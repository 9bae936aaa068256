-- What tools said that was too long to be told: the whole of it, for a later call.

CREATE TABLE outputs (
    row_id  INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The session whose calls may read it; none for what a person did by hand.
    session TEXT,
    -- No foreign key: a run of a deleted session goes in small steps.
    run     BLOB,
    tool    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    -- Whether there was more than is kept.
    is_cut  INTEGER NOT NULL,
    -- The file under `blobs/`.
    blob    BLOB NOT NULL
) STRICT;

CREATE INDEX outputs_run ON outputs (run) WHERE run IS NOT NULL;
CREATE INDEX outputs_blob ON outputs (blob);
