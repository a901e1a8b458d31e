-- Workspaces: memories with their replaced texts, a feed of changes, and journals.
--
-- Every write begins by updating the row of its workspace. That lock orders the writes of one workspace, so
-- that `head` has no gaps and the numbers of `change` are in the order of the commits.

CREATE TABLE workspace (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    -- Number of the last change.
    head bigint NOT NULL DEFAULT 0,
    created timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE memory (
    workspace text COLLATE "C" NOT NULL,
    -- Folder of the file: `files`, `archive`, or `beside` for any other path of a store.
    place text COLLATE "C" NOT NULL CHECK (place IN ('files', 'archive', 'beside')),
    name text COLLATE "C" NOT NULL,
    bytes bytea NOT NULL,
    -- First 16 bytes of the BLAKE3 hash of `bytes`.
    hash bytea NOT NULL CHECK (length(hash) = 16),
    -- Number of the change that wrote this text here.
    seq bigint NOT NULL,
    -- Time of the text, and time of the last change of the row, in nanoseconds since 1970.
    modified bigint NOT NULL,
    changed bigint NOT NULL,
    PRIMARY KEY (workspace, place, name)
) PARTITION BY HASH (workspace);

-- Texts that were replaced or removed; a present text is in `memory` only.
CREATE TABLE version (
    workspace text COLLATE "C" NOT NULL,
    place text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- Number of the change that wrote this text.
    seq bigint NOT NULL,
    bytes bytea NOT NULL,
    hash bytea NOT NULL,
    modified bigint NOT NULL,
    -- Number of the change that replaced or removed it.
    until bigint NOT NULL,
    PRIMARY KEY (workspace, place, name, seq)
) PARTITION BY HASH (workspace);

CREATE TABLE change (
    workspace text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    op text NOT NULL CHECK (op IN ('put', 'remove')),
    place text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- Hash of the new text; NULL for a removal.
    hash bytea,
    -- Random number of the transaction, by which a writer whose connection broke finds out whether it was
    -- committed.
    token bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace, seq)
) PARTITION BY HASH (workspace);

-- Number of the last line of each workspace's journal. Apart from `workspace`, so that counting uses does not
-- wait for writes.
CREATE TABLE journal_head (
    workspace text COLLATE "C" PRIMARY KEY,
    head bigint NOT NULL DEFAULT 0
);

CREATE TABLE journal (
    workspace text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (workspace, number)
) PARTITION BY HASH (workspace);

-- The number of partitions is fixed for the life of a database.
DO $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['memory', 'version', 'change', 'journal'] LOOP
        FOR part IN 0..63 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 64, REMAINDER %s)',
                parent || '_' || lpad(part::text, 2, '0'), parent, part);
        END LOOP;
    END LOOP;
END
$$;

-- Servers take this role in each transaction. It sees the rows of one workspace, whatever a statement asks for.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'memdir_server') THEN
        CREATE ROLE memdir_server NOLOGIN;
    END IF;
EXCEPTION
    -- Made for another database of this cluster in the same moment.
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['memory', 'version', 'change', 'journal', 'journal_head'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('CREATE POLICY one_workspace ON %I TO memdir_server '
            'USING (workspace = current_setting(''memdir.workspace'', true)) '
            'WITH CHECK (workspace = current_setting(''memdir.workspace'', true))', guarded);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO memdir_server', guarded);
    END LOOP;
END
$$;

ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON workspace TO memdir_server
    USING (name = current_setting('memdir.workspace', true))
    WITH CHECK (name = current_setting('memdir.workspace', true));
GRANT SELECT, UPDATE ON workspace TO memdir_server;
