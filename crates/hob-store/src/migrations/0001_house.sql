-- The house: sessions, their messages, the event log, tokens.

-- Single facts: `epoch` counts the daemon's starts.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('epoch', 0);

CREATE TABLE sessions (
    -- Never used again after a deletion, because events and messages refer to it.
    row_id        INTEGER PRIMARY KEY AUTOINCREMENT,
    id            BLOB NOT NULL UNIQUE,
    key           TEXT UNIQUE,
    kind          TEXT NOT NULL,
    label         TEXT,
    parent        BLOB,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    metadata      TEXT NOT NULL
) STRICT;

-- Each also holds row_id as its last column, which makes the order of a listing total.
CREATE INDEX sessions_recent ON sessions (updated_at);
CREATE INDEX sessions_kind_recent ON sessions (kind, updated_at);

CREATE TABLE messages (
    row_id          INTEGER PRIMARY KEY,
    -- No foreign key: the messages of a deleted session go in small steps (see `deletions`).
    session         INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    id              BLOB NOT NULL,
    role            TEXT NOT NULL,
    at              INTEGER NOT NULL,
    idempotency_key TEXT,
    content         TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX messages_place ON messages (session, seq);
CREATE UNIQUE INDEX messages_idempotency ON messages (session, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- Deleted sessions whose messages are still being removed.
CREATE TABLE deletions (
    session INTEGER PRIMARY KEY
) STRICT;

-- The log. An event about a row names the row; its payload is rebuilt from it. Others keep the
-- payload and the session's names themselves.
CREATE TABLE events (
    seq         INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    topic       TEXT NOT NULL,
    source      TEXT NOT NULL,
    session     INTEGER,
    message     INTEGER,
    session_id  TEXT,
    session_key TEXT,
    payload     BLOB
) STRICT;

CREATE TABLE tokens (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    secret_hash BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER
) STRICT, WITHOUT ROWID;
