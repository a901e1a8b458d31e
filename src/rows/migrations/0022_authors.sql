-- Changes that were made elsewhere before, such as commits of a folder's git history.

-- Who made the change, and by which tool; NULL of changes that were made here, which the journal and the audit name.
-- The time of such a change is that of the commit.
ALTER TABLE change
    ADD COLUMN author text,
    ADD COLUMN tool text;
