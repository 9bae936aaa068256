-- Each start of the daemon gives the event log a new id. A cursor of a client is an event's number
-- and the id under which it was heard, so that a cursor into another history is noticed: after an
-- older copy of the files was restored, numbers are given again.
CREATE TABLE log_starts (
    epoch     INTEGER PRIMARY KEY,
    id        TEXT NOT NULL,
    -- The last event before this start: up to here the log is the one of the starts before.
    after_seq INTEGER NOT NULL
) STRICT;
