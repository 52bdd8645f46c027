-- Needs: 0021
-- The number that a processor gives to each of its settlement files, one more for each file. Null if the file has none.
alter table settlement_file add column sequence_number integer;
