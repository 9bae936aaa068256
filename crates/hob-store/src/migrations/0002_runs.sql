-- Runs: tasks executed on sessions, their journals, and the ledger of model calls.

CREATE TABLE runs (
    -- Never used again after a deletion, because events refer to it. Also the order of acceptance.
    row_id          INTEGER PRIMARY KEY AUTOINCREMENT,
    id              BLOB NOT NULL UNIQUE,
    -- The session it works on. No foreign key: the runs of a deleted session go in small steps.
    session         INTEGER NOT NULL,
    -- The session it was asked on, another one when it works on a fork.
    asked           INTEGER NOT NULL,
    idempotency_key TEXT,
    params_hash     BLOB,
    queued_at       INTEGER NOT NULL,
    journal_len     INTEGER NOT NULL DEFAULT 0,
    -- Places of the first and the last message it added.
    first_message   INTEGER,
    last_message    INTEGER,
    state           TEXT NOT NULL DEFAULT 'queued',
    step            INTEGER NOT NULL DEFAULT 0,
    attempt         INTEGER NOT NULL DEFAULT 0,
    resumed         INTEGER NOT NULL DEFAULT 0,
    text            TEXT NOT NULL DEFAULT '',
    success         INTEGER NOT NULL DEFAULT 0,
    cause           TEXT,
    message         TEXT,
    micro_dollars   INTEGER,
    input_tokens    INTEGER NOT NULL DEFAULT 0,
    output_tokens   INTEGER NOT NULL DEFAULT 0,
    calls           INTEGER NOT NULL DEFAULT 0,
    model           TEXT,
    notes           TEXT NOT NULL DEFAULT '[]',
    started_at      INTEGER,
    ended_at        INTEGER
) STRICT;

CREATE INDEX runs_session ON runs (session);
CREATE UNIQUE INDEX runs_idempotency ON runs (asked, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- The few that have not ended, by session and by state.
CREATE INDEX runs_live ON runs (session) WHERE state <> 'done';
CREATE INDEX runs_state ON runs (state) WHERE state <> 'done';

-- What a run was asked for; apart from its row, which is rewritten at each step.
CREATE TABLE run_tasks (
    run         INTEGER PRIMARY KEY,
    task        TEXT NOT NULL,
    limits      TEXT NOT NULL,
    -- The parameters as JSON, or the file under `blobs/` that holds them.
    params      TEXT,
    params_blob BLOB,
    CHECK ((params IS NULL) <> (params_blob IS NULL))
) STRICT;

CREATE INDEX run_tasks_blob ON run_tasks (params_blob) WHERE params_blob IS NOT NULL;

-- The inputs of each run's machine, in order.
CREATE TABLE journal (
    run   INTEGER NOT NULL,
    place INTEGER NOT NULL,
    entry TEXT,
    blob  BLOB,
    PRIMARY KEY (run, place),
    CHECK ((entry IS NULL) <> (blob IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX journal_blob ON journal (blob) WHERE blob IS NOT NULL;

-- Every model call. It outlives its run and its session.
CREATE TABLE ledger (
    row_id        INTEGER PRIMARY KEY,
    call_key      TEXT NOT NULL UNIQUE,
    run           BLOB,
    session       INTEGER,
    at            INTEGER NOT NULL,
    -- Days since 1970 (UTC) at its reservation.
    day           INTEGER NOT NULL,
    model         TEXT NOT NULL,
    -- `reserved`, `settled`, or `unknown`: lost in a crash, and counted as reserved.
    state         TEXT NOT NULL,
    -- What counts, in millionths of a dollar; nothing when the price is not known.
    micro_dollars INTEGER,
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX ledger_session ON ledger (session, day) WHERE session IS NOT NULL;
-- Calls under way that no run will settle after a crash.
CREATE INDEX ledger_loose ON ledger (state) WHERE state = 'reserved' AND run IS NULL;

-- The ledger's sums, kept with it.
CREATE TABLE spending (
    day           INTEGER NOT NULL,
    model         TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    -- Calls whose price is not known.
    unpriced      INTEGER NOT NULL,
    micro_dollars INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    PRIMARY KEY (day, model)
) STRICT, WITHOUT ROWID;

-- What the ledger counts for a session.
ALTER TABLE sessions ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;

-- The run an event is about. With a payload and a message, the payload is the beginning and the
-- rest is in the message; with neither, all of it is in the run.
ALTER TABLE events ADD COLUMN run INTEGER;
