-- Roles that groups of the issuer of tokens have in a workspace.

CREATE TABLE issuer_role (
    workspace text COLLATE "C" NOT NULL,
    -- As the issuer writes it in its tokens.
    claim_group text COLLATE "C" NOT NULL CHECK (length(claim_group) BETWEEN 1 AND 256),
    role text NOT NULL CHECK (role IN ('reader', 'writer', 'owner')),
    changed timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, claim_group)
);

ALTER TABLE issuer_role ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON issuer_role TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true))
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
-- Servers cannot change who has access.
GRANT SELECT ON issuer_role TO memdir_server;
