-- Needs: 0021
-- Whether a processor ever said that it has an order: if it does not find it later, that proves nothing any more.
alter table processor_attempt add column acknowledged boolean not null default false;
