-- Servers that run on this database, by the names that load balancers and clients know, each with the time at which it
-- was seen last, by the clock of the database.
CREATE TABLE server (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[!-~]{1,255}$'),
    seen timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- They are of no workspace.
GRANT SELECT, INSERT, UPDATE, DELETE ON server TO memdir_server;
