-- A checksum for each row of what must not change unnoticed (`checksums/tables.rs`).

ALTER TABLE messages ADD COLUMN checksum INTEGER;
ALTER TABLE journal ADD COLUMN checksum INTEGER;
ALTER TABLE runs ADD COLUMN checksum INTEGER;
ALTER TABLE run_tasks ADD COLUMN checksum INTEGER;
ALTER TABLE rules ADD COLUMN checksum INTEGER;
ALTER TABLE jobs ADD COLUMN checksum INTEGER;
ALTER TABLE tokens ADD COLUMN checksum INTEGER;
ALTER TABLE audit ADD COLUMN checksum INTEGER;

-- Tables in which rows of former versions still have none: those behind the first key and up to
-- the last one. A table that is not here is finished.
CREATE TABLE checksum_fill (
    name       TEXT PRIMARY KEY,
    major      INTEGER NOT NULL,
    minor      INTEGER NOT NULL,
    last_major INTEGER NOT NULL,
    last_minor INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO checksum_fill SELECT 'messages', 0, 0, max(row_id), 0 FROM messages
    HAVING max(row_id) IS NOT NULL;
INSERT INTO checksum_fill SELECT 'runs', 0, 0, max(row_id), 0 FROM runs
    HAVING max(row_id) IS NOT NULL;
INSERT INTO checksum_fill SELECT 'run_tasks', 0, 0, max(run), 0 FROM run_tasks
    HAVING max(run) IS NOT NULL;
INSERT INTO checksum_fill SELECT 'audit', 0, 0, max(seq), 0 FROM audit
    HAVING max(seq) IS NOT NULL;
INSERT INTO checksum_fill SELECT 'journal', 0, -1, run, place FROM journal
    ORDER BY run DESC, place DESC LIMIT 1;
INSERT INTO checksum_fill VALUES ('rules', 0, 0, 0, 0), ('jobs', 0, 0, 0, 0), ('tokens', 0, 0, 0, 0);
