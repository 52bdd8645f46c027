-- Needs: 0021
-- What waits for a processor does not expire.
alter table hold alter column expires_at drop not null;
