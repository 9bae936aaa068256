-- What runs changed in files: what was there before, so that it can be undone.

CREATE TABLE changes (
    row_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The run and the call within it. No foreign key: a run of a deleted session goes in small steps.
    run       BLOB NOT NULL,
    call      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    undone_at INTEGER,
    -- What is kept of it, in bytes.
    bytes     INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    path      TEXT NOT NULL,
    -- `nothing`, `file`, `link`, `folder`, or `moved` from another path.
    former    TEXT NOT NULL,
    mode      INTEGER NOT NULL DEFAULT 0,
    -- What is there after the change, as whoever looks at it would mark it.
    becomes   TEXT NOT NULL,
    -- What a file held, a link led to, or the path it was moved from; a large one is a file under `blobs/`.
    content   BLOB,
    blob      BLOB,
    CHECK (content IS NULL OR blob IS NULL)
) STRICT;

CREATE INDEX changes_run ON changes (run, bytes);
CREATE INDEX changes_blob ON changes (blob) WHERE blob IS NOT NULL;
