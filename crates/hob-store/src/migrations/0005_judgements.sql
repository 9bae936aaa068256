-- What is allowed and denied: the stored rules, and the record of every decision.

CREATE TABLE rules (
    row_id          INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    tool            TEXT NOT NULL,
    scope           TEXT NOT NULL,
    -- The session or the run it is for; it goes with it.
    session         INTEGER,
    run             BLOB,
    -- All it says, as JSON.
    terms           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    created_by      TEXT NOT NULL,
    expires_at      INTEGER,
    idempotency_key TEXT
) STRICT;

CREATE INDEX rules_session ON rules (session) WHERE session IS NOT NULL;
CREATE INDEX rules_run ON rules (run) WHERE run IS NOT NULL;
CREATE INDEX rules_expiry ON rules (expires_at) WHERE expires_at IS NOT NULL;
CREATE UNIQUE INDEX rules_idempotency ON rules (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Each entry's hash covers the entry and the hash before it. Rows are only ever added; they
-- outlive the sessions and runs they speak of.
CREATE TABLE audit (
    seq         INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    act         TEXT NOT NULL,
    by          TEXT NOT NULL,
    session_key TEXT,
    run         BLOB,
    tool        TEXT,
    matter      TEXT NOT NULL,
    previous    TEXT NOT NULL,
    hash        TEXT NOT NULL
) STRICT;

CREATE INDEX audit_session ON audit (session_key) WHERE session_key IS NOT NULL;
CREATE INDEX audit_run ON audit (run) WHERE run IS NOT NULL;
CREATE INDEX audit_tool ON audit (tool) WHERE tool IS NOT NULL;
