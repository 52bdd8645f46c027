-- Needs: 0021
-- The first and the last number that a break `file_missing` about numbered files covers. Null for every other break.
alter table processor_break add column missing_from integer, add column missing_until integer;
