-- The changes of one file, whatever folder it was in, are found without reading those of all files.
CREATE INDEX change_of_file ON change (workspace, (regexp_replace(name, '^.*/', '')), seq);

-- A server asks for the schema before it takes the role.
GRANT SELECT ON migration TO memdir_server;
