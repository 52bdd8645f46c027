-- Needs: 0021
-- Keys are found by their hash, and no version reads their text. That of a created transfer is in transfer.idempotency_key.
alter table idempotency alter column key drop not null;
comment on column idempotency.key is 'As callers sent it; null if it has created a transfer, which has it.';
