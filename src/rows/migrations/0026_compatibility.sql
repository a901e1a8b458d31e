-- Which older programs may go on after a migration.

-- Number of the oldest schema that they know; NULL is that of the migration itself.
ALTER TABLE migration ADD COLUMN least integer;
