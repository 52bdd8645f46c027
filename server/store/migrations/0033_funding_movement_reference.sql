-- Needs: 0021
-- Transaction: none
-- The reference of a deposit or a withdrawal identifies it. Transfers have references of their own.

create unique index concurrently funding_movement_reference on funding_movement (program_id, reference)
  where reference is not null;
