-- A line for every call of a workspace, and for every transaction that changed it.

-- Number of the last line of each workspace. Apart from `workspace`, so that lines of reads do not wait for writes.
CREATE TABLE audit_head (
    workspace text COLLATE "C" PRIMARY KEY,
    head bigint NOT NULL DEFAULT 0
);

CREATE TABLE audit (
    workspace text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL,
    -- Holder of the token of the call; NULL of what no call did, such as a command of the operator.
    identity text,
    -- Tool or operation.
    action text NOT NULL,
    -- Id of the request.
    request text NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('done', 'failed', 'refused')),
    -- Ids of the first memories that were shown or changed, one in each line of the text.
    memories text NOT NULL,
    -- Number of all of them.
    count bigint NOT NULL,
    -- Numbers of the changes.
    first_change bigint,
    last_change bigint,
    PRIMARY KEY (workspace, number)
) PARTITION BY HASH (workspace);

DO $$
BEGIN
    FOR part IN 0..63 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF audit FOR VALUES WITH (MODULUS 64, REMAINDER %s)',
            'audit_' || lpad(part::text, 2, '0'), part);
    END LOOP;
END
$$;

-- Number of days for which lines are kept.
ALTER TABLE workspace ADD COLUMN audit_days integer NOT NULL DEFAULT 400 CHECK (audit_days > 0);

-- Servers do not change how long lines are kept.
REVOKE UPDATE ON workspace FROM memdir_server;
GRANT UPDATE (head) ON workspace TO memdir_server;

ALTER TABLE audit_head ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON audit_head TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true))
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
GRANT SELECT, INSERT, UPDATE ON audit_head TO memdir_server;

-- Servers add lines, change none, and remove those whose time is over.
ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON audit FOR SELECT TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true));
CREATE POLICY added ON audit FOR INSERT TO memdir_server
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
CREATE POLICY expired ON audit FOR DELETE TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true)
        AND at < now() - (SELECT audit_days FROM workspace
            WHERE name = current_setting('memdir.workspace', true)) * interval '1 day');
GRANT SELECT, INSERT, DELETE ON audit TO memdir_server;
