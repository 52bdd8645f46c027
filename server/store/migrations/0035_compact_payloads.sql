-- Needs: 0021
-- From this version on, the payload of an event about a transfer may be stored in a compact form, which earlier versions would
-- send as it is. So it is written only on a ledger on which none of them may run any more: one that was made by this version or a
-- later one, or that has a later migration which needs this one. Nothing else says so, and nothing that is stored is rewritten.
comment on column event.payload is
  'JSON text of the record as it was then: an object, or a compact array (server/store/events/transfer-payload.ts).';
