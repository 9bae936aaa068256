-- Where a message of a run comes from, so that its blocks have the ids that they had while the run
-- was followed. NULL for other messages, and for those of former versions.

-- The row of its run.
ALTER TABLE messages ADD COLUMN run INTEGER;
-- The step of the run, and the attempt that answered; only for answers and results of calls.
ALTER TABLE messages ADD COLUMN step INTEGER;
ALTER TABLE messages ADD COLUMN attempt INTEGER;
-- For the result of a call: how the call ended (JSON), unless it is done without a denial.
ALTER TABLE messages ADD COLUMN outcome TEXT;
