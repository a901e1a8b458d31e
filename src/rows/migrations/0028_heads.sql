-- Numbers of the last changes of several workspaces: all that a server sees of more than one of them in a statement.

-- By the rights of its owner, as row-level security shows the server one workspace.
CREATE FUNCTION memdir_heads(names text[])
    RETURNS TABLE (workspace text, head bigint, journal bigint, erased bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$
        SELECT w.name, w.head, coalesce(j.head, 0), w.erased
        FROM unnest(names) AS wanted JOIN workspace w ON w.name = wanted
        LEFT JOIN journal_head j ON j.workspace = w.name
    $$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION memdir_heads(text[]) SET search_path = %I, pg_temp', current_schema());
END
$$;

REVOKE ALL ON FUNCTION memdir_heads(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memdir_heads(text[]) TO memdir_server;
