-- Copies of the indexes that servers derive from memories, so that another server need not read every memory.

-- The newest copy of each index. Its row is made by the server that is about to publish, so that no other one does.
CREATE TABLE index_copy (
    workspace text COLLATE "C" NOT NULL,
    -- Name of the index: the version of its format, and the languages of the texts.
    name text COLLATE "C" NOT NULL,
    -- Number of the last change in it; NULL before the first copy is complete.
    number bigint,
    -- JSON array of the names of its files, each with the number of its pieces.
    files text,
    -- Hashes of the pieces of all files, in their order.
    pieces bytea[],
    published timestamptz,
    -- Random number of the server that is about to publish, and the time when it began.
    claim bigint,
    claimed timestamptz,
    PRIMARY KEY (workspace, name)
);

-- Pieces of files, by content: a copy shares with the one before it what did not change.
CREATE TABLE index_piece (
    workspace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- First 16 bytes of the BLAKE3 hash of `bytes`.
    hash bytea NOT NULL CHECK (length(hash) = 16),
    bytes bytea NOT NULL,
    PRIMARY KEY (workspace, name, hash),
    FOREIGN KEY (workspace, name) REFERENCES index_copy ON DELETE CASCADE
);

-- They are compressed as far as that pays.
ALTER TABLE index_piece ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Number of the last change that erased texts. Copies of earlier states may hold their words.
ALTER TABLE workspace ADD COLUMN erased bigint NOT NULL DEFAULT 0;
GRANT UPDATE (erased) ON workspace TO memdir_server;

ALTER TABLE index_copy ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON index_copy TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true))
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON index_copy TO memdir_server;

ALTER TABLE index_piece ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON index_piece TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true))
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
GRANT SELECT, INSERT, DELETE ON index_piece TO memdir_server;
