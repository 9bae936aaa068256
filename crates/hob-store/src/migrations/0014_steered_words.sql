-- Keys of words that were added to a run under way: one key is one saying, also after that run has
-- ended.
CREATE TABLE steered_words (
    session INTEGER NOT NULL,
    key     TEXT NOT NULL,
    -- The run that took them.
    run     INTEGER NOT NULL,
    PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX steered_words_run ON steered_words (run);
