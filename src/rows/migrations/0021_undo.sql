-- Changes that undo others.

-- Number of the change that this one undoes, as far as its files were changed by it; NULL of all others.
ALTER TABLE change ADD COLUMN undoes bigint;

-- They are few, and each undo asks for all of them.
CREATE INDEX change_undo ON change (workspace, seq) WHERE undoes IS NOT NULL;
