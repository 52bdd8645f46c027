-- Needs: 0021
-- Who asked for a reversal. Null for reversals of earlier versions. No row is rewritten.
alter table reversal add column created_by uuid;
