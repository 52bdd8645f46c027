-- Needs: 0021
-- The processor's fee in the line that settled an attempt, in minor units. Null if no line did, or if an older program compared it.
alter table processor_attempt add column settlement_fee bigint;
