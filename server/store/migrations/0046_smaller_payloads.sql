-- Needs: 0021
-- From this version on, compact payloads of events about transfers are written in form 2, which earlier versions cannot read.
-- As with form 1 (migration 0035), it is written only on a ledger on which none of them may run any more: one that was made by
-- this version or a later one, or that has a later migration which needs this one. All forms are read, and nothing is rewritten.
comment on column event.payload is
  'JSON text of the record as it was then: an object, or a compact array of form 1 or 2 (server/store/events/transfer-payload.ts).';
