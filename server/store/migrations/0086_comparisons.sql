-- Needs: 0021
-- Comparisons of a card program with the balance files of the ledger that its cards move in from. docs/move-in.md explains them.

-- 1. `last_card`: cards up to this name are compared. `as_of`: the books as they were just after this time, or null for the current
-- ones. `totals_…` are sums by currency in minor units. `books` shows later whether money has moved since.
create table comparison (
  program_id uuid not null references program,
  comparison_id uuid not null primary key,
  name text not null,
  sha256 bytea not null,
  as_of timestamptz,
  status text not null check (status in ('comparing', 'equal', 'different', 'cut_over')),
  card_count integer not null check (card_count > 0),
  cards_received integer not null default 0 check (cards_received between 0 and card_count),
  last_card text,
  difference_count integer not null default 0,
  differing_cards integer not null default 0,
  differences jsonb not null default '{}',
  totals_here jsonb not null default '{}',
  totals_there jsonb not null default '{}',
  books jsonb not null,
  created_at timestamptz not null,
  created_by text not null,
  compared_at timestamptz,
  cut_over_at timestamptz,
  cut_over_by text,
  cut_over_note text
);
create index comparison_program on comparison (program_id, comparison_id);

-- 2. Amounts are in minor units.
create table comparison_difference (
  comparison_id uuid not null references comparison,
  number integer not null check (number > 0),
  card_name text not null,
  reason text not null,
  currency char(3) not null,
  here bigint,
  there bigint,
  transfer_id uuid,
  reference text,
  message text not null,
  primary key (comparison_id, number)
);

do $$
declare
  walled text;
begin
  foreach walled in array array['comparison', 'comparison_difference'] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    execute format('grant select, insert, update on %I to transfer_service_background', walled);
  end loop;
end $$;

-- 3. A line of a move-in can also be a finished transfer, whose reference and idempotency key are kept, a change of a balance, or a
-- hold that was released. `kind` is null for cards and holds. The amount of a change can be negative.
alter table move_in_line
  drop constraint move_in_line_amount_check,
  add column kind text,
  add column reference text,
  add column key_hash uuid;
