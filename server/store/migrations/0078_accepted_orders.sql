-- Needs: 0021
-- When a person accepted that a line of a settlement file settles an attempt. Null if the comparison of the file settled it.
alter table processor_attempt add column accepted_at timestamptz;
