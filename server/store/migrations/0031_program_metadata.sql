-- Needs: 0021
-- Metadata of card programs. There are few of them, so they are searched as they are.
alter table program add column metadata jsonb not null default '{}';
