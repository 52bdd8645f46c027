-- Needs: 0021
-- The API key whose request had an error: support is asked which integration it was. Null without a key, for errors of
-- earlier versions, and where the key could not be told. No row is rewritten.
alter table error add column key_id uuid;
