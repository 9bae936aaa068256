-- What a person typed in a session and has not sent. It goes with its session.
CREATE TABLE drafts (
    session    INTEGER PRIMARY KEY,
    text       TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
