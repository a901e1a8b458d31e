-- Vectors of models, so that a passage is embedded by one server and not by each.

CREATE TABLE vector (
    workspace text COLLATE "C" NOT NULL,
    -- Name of the model, and of all that its vectors depend on.
    model text COLLATE "C" NOT NULL,
    -- Hash of the text.
    key bytea NOT NULL CHECK (length(key) = 16),
    -- NULL while a server makes it.
    bytes bytea,
    -- Time when that server began. Another one takes it over later; no transaction is open while a model computes.
    claimed timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace, model, key)
) PARTITION BY HASH (workspace);

DO $$
BEGIN
    FOR part IN 0..63 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF vector FOR VALUES WITH (MODULUS 64, REMAINDER %s)',
            'vector_' || lpad(part::text, 2, '0'), part);
    END LOOP;
END
$$;

ALTER TABLE vector ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON vector TO memdir_server
    USING (workspace = current_setting('memdir.workspace', true))
    WITH CHECK (workspace = current_setting('memdir.workspace', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON vector TO memdir_server;
