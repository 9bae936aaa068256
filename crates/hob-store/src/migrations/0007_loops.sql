-- Loops: prompts that are asked again and again, their iterations and their memories.

CREATE TABLE loops (
    row_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    -- `LoopConfig` as JSON.
    config      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    -- `idle`, `running`, or `once` for a single iteration.
    mode        TEXT NOT NULL DEFAULT 'idle',
    -- What asked for the single iteration.
    once_key    TEXT,
    -- The last number used, and how many this start has begun.
    iteration   INTEGER NOT NULL DEFAULT 0,
    since_start INTEGER NOT NULL DEFAULT 0,
    -- Failures in a row.
    errors      INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT,
    -- Why it ended.
    stopped     TEXT,
    -- When the next iteration begins, while it sleeps.
    next_at     INTEGER,
    -- What the monitor last printed, as JSON.
    monitor     TEXT,
    -- What this start has cost, as JSON.
    cost        TEXT,
    -- The revisions of its memories.
    persistent  INTEGER NOT NULL DEFAULT 0,
    working     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX loops_awake ON loops (mode) WHERE mode <> 'idle';

-- Prompt and answer are in the run.
CREATE TABLE iterations (
    loop       INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    run        BLOB,
    -- The revision of the working memory it was shown.
    working    INTEGER,
    -- Makes asking for it again the same iteration.
    key        TEXT,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    success    INTEGER,
    cause      TEXT,
    message    TEXT,
    PRIMARY KEY (loop, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX iterations_key ON iterations (loop, key) WHERE key IS NOT NULL;

CREATE TABLE memories (
    loop     INTEGER NOT NULL,
    -- `persistent` or `working`.
    kind     TEXT NOT NULL,
    revision INTEGER NOT NULL,
    text     TEXT NOT NULL,
    by       TEXT NOT NULL,
    at       INTEGER NOT NULL,
    -- The revision it went back to.
    source   INTEGER,
    -- Makes repeating the request the same revision.
    key      TEXT,
    PRIMARY KEY (loop, kind, revision)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX memories_key ON memories (loop, kind, key) WHERE key IS NOT NULL;
