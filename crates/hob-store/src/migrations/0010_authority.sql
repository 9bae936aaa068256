-- What tokens and tools of outside services may do.

-- The folders that a token without the scope `control` may have a model read, as a JSON list.
-- Tokens made before this column have NULL: they were made when `control` included the shared
-- terminal, which `token.list` says of them.
ALTER TABLE tokens ADD COLUMN workspaces TEXT;

-- How far a tool of an outside service reaches, where an admin has said so. It holds only for this
-- service and this very declaration.
CREATE TABLE tool_tiers (
    name        TEXT PRIMARY KEY,
    service     TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    tier        TEXT NOT NULL,
    set_by      TEXT NOT NULL,
    set_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
