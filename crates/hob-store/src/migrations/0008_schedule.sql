-- Jobs that run by the calendar or when they are called, and what became of each time.

CREATE TABLE jobs (
    row_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL UNIQUE,
    -- What it does and when, as JSON.
    terms      TEXT NOT NULL,
    enabled    INTEGER NOT NULL,
    -- The last due time that was decided. It is written with the slots it passes.
    cursor     INTEGER NOT NULL,
    -- Failures in a row.
    failures   INTEGER NOT NULL,
    -- Why hob itself disabled it.
    problem    TEXT,
    -- With the key of the house it makes the secret of the job's callers.
    nonce      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE slots (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    job         INTEGER NOT NULL,
    -- What makes it one slot: its due time, or what its caller said.
    key         TEXT NOT NULL,
    due_at      INTEGER NOT NULL,
    -- When its work may begin.
    begin_at    INTEGER NOT NULL,
    origin      TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT,
    stands_for  INTEGER NOT NULL,
    session_key TEXT,
    run         BLOB,
    exit_code   INTEGER,
    output      TEXT,
    -- As JSON.
    cost        TEXT,
    attempt     INTEGER NOT NULL,
    -- What a call made of the job's task.
    task        TEXT,
    started_at  INTEGER,
    ended_at    INTEGER
) STRICT;

CREATE UNIQUE INDEX slots_key ON slots (job, key);
CREATE INDEX slots_job ON slots (job, number);
CREATE INDEX slots_live ON slots (number) WHERE state IN ('due', 'running');
