-- Needs: 0021
-- Transaction: none
-- A transfer that has ended without moving money leaves its reference to others. Version 0.1.0 looks for a reference in any
-- status, so an index without a condition on the status serves it too.

create unique index concurrently transfer_reference_taken on transfer (program_id, reference)
  where reference is not null and status in ('scheduled', 'pending', 'completed');

create index concurrently transfer_by_reference on transfer (program_id, reference, transfer_id)
  where reference is not null;

drop index concurrently if exists transfer_reference;
