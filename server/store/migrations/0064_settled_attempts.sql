-- Needs: 0021
-- The settlement file that an attempt was first found in, so that a second line about it is noticed. Null if there is none.
alter table processor_attempt add column settlement_file_id uuid;
