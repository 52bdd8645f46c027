-- Needs: 0021
-- Transaction: none
-- A connector has one file with a number, without withdrawn files, and one break about missing numbers that end with a number.

create unique index concurrently settlement_file_sequence on settlement_file (connector_id, sequence_number)
  where sequence_number is not null and status not in ('withdrawing', 'withdrawn');

create unique index concurrently processor_break_of_numbers on processor_break (connector_id, missing_until)
  where missing_until is not null;
