-- Quotas of workspaces. What a workspace holds is counted by each write, whose first statement has locked the row.

ALTER TABLE workspace
    -- Files that are memories, live and archived, and the bytes of all present files.
    ADD COLUMN memories bigint NOT NULL DEFAULT 0,
    ADD COLUMN bytes bigint NOT NULL DEFAULT 0,
    -- NULL is no limit.
    ADD COLUMN max_memories bigint CHECK (max_memories >= 0),
    ADD COLUMN max_bytes bigint CHECK (max_bytes >= 0),
    -- Calls a minute.
    ADD COLUMN max_requests bigint CHECK (max_requests > 0);

UPDATE workspace SET
    memories = (SELECT count(*) FROM memory m WHERE m.workspace = workspace.name AND m.place <> 'beside'),
    bytes = (SELECT coalesce(sum(octet_length(m.bytes)), 0) FROM memory m WHERE m.workspace = workspace.name);

-- Servers count, and do not change limits.
GRANT UPDATE (memories, bytes) ON workspace TO memdir_server;
