-- Shells that a person and hob share, and the commands that were run in them.

CREATE TABLE terminals (
    row_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Names the folder of its recording.
    id         TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    -- What its shell's marks carry.
    key        TEXT NOT NULL,
    shell      TEXT NOT NULL,
    -- The shell's folder when it was last at its prompt.
    folder     TEXT,
    columns    INTEGER NOT NULL,
    rows       INTEGER NOT NULL,
    state      TEXT NOT NULL,
    detail     TEXT,
    -- Up to where its recording was lived through.
    reached    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- When it was closed or found lost.
    ended_at   INTEGER
) STRICT;

CREATE UNIQUE INDEX terminals_live ON terminals (name) WHERE ended_at IS NULL;

CREATE TABLE commands (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB NOT NULL UNIQUE,
    terminal     INTEGER NOT NULL,
    by           TEXT NOT NULL,
    run          BLOB,
    command      TEXT,
    reason       TEXT,
    state        TEXT NOT NULL,
    exit_code    INTEGER,
    duration_ms  INTEGER,
    queued_at    INTEGER NOT NULL,
    started_at   INTEGER,
    ended_at     INTEGER,
    output_bytes INTEGER NOT NULL DEFAULT 0,
    truncated    INTEGER NOT NULL DEFAULT 0,
    detail       TEXT,
    timeout_ms   INTEGER,
    -- The first of several of which the rest is dropped when one fails.
    chain        INTEGER,
    -- Makes asking for it again the same command, with its place among several.
    key          TEXT,
    place        INTEGER,
    -- The shell's own name of a line that a person typed.
    shell_id     TEXT
) STRICT;

CREATE UNIQUE INDEX commands_key ON commands (terminal, key, place) WHERE key IS NOT NULL;
CREATE INDEX commands_terminal ON commands (terminal, number);
CREATE INDEX commands_live ON commands (terminal, number) WHERE ended_at IS NULL;

-- What a command printed; fewer are kept than commands.
CREATE TABLE command_outputs (
    command  INTEGER PRIMARY KEY,
    terminal INTEGER NOT NULL,
    text     TEXT NOT NULL
) STRICT;

CREATE INDEX command_outputs_terminal ON command_outputs (terminal, command);
