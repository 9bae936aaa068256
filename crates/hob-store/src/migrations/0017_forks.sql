-- Forks of sessions: their messages are copied in steps, before their session appears.

-- 1 while the messages of a new session are copied. Its row id is taken; at the next start, what a
-- crash left of it is deleted like the rest of a deleted session.
ALTER TABLE deletions ADD COLUMN copying INTEGER NOT NULL DEFAULT 0;
