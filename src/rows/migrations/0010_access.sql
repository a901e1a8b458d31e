-- Tokens that open one workspace. Of a secret only the hash is kept: its 256 random bits cannot be guessed from it.

CREATE TABLE token (
    workspace text COLLATE "C" NOT NULL,
    -- BLAKE3 hash of the secret.
    hash bytea NOT NULL CHECK (length(hash) = 32),
    -- Names who holds it. A token and the one that replaces it have the same name.
    name text COLLATE "C" NOT NULL CHECK (name ~ '^[A-Za-z0-9._-]{1,64}$'),
    role text NOT NULL CHECK (role IN ('reader', 'writer', 'owner')),
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz,
    -- Written once a minute at most.
    last_used timestamptz,
    revoked timestamptz,
    PRIMARY KEY (workspace, hash)
);

CREATE INDEX token_name ON token (workspace, name);

ALTER TABLE token ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON token TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true))
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
-- Servers cannot make tokens, or change what one opens.
GRANT SELECT, UPDATE (last_used) ON token TO memdir_server;
