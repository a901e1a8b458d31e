-- Calls of workspaces with a quota, counted by the minute. Older servers count them by themselves.

CREATE TABLE call_count (
    workspace text COLLATE "C" PRIMARY KEY,
    -- Minutes since 1970.
    minute bigint NOT NULL,
    -- Calls that servers asked for in that minute, granted or not.
    leased bigint NOT NULL
);

ALTER TABLE call_count ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON call_count TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true))
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
GRANT SELECT, INSERT, UPDATE ON call_count TO memdir_server;
