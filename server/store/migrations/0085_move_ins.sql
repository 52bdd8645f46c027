-- Needs: 0021
-- Cards that move in from another ledger, with their balances and open holds. docs/move-in.md explains it.

-- 1. The purpose `opening` is for the postings of opening balances. A later migration validates the constraint, which is wider than
-- the one before, so every row satisfies it.
alter table posting
  drop constraint posting_purpose_check,
  add constraint posting_purpose_check check (
    purpose in ('load', 'unload', 'card_to_card', 'reversal', 'deposit', 'withdrawal', 'correction', 'opening')
  ) not valid;

-- 2. `sha256` identifies the file. Lines arrive in order and take effect at once. An undo goes back from the last line.
create table move_in (
  program_id uuid not null references program,
  move_in_id uuid not null,
  name text not null,
  sha256 bytea not null,
  as_of timestamptz not null,
  status text not null check (status in ('receiving', 'moved', 'undoing', 'undone')),
  line_count integer not null check (line_count > 0),
  lines_received integer not null default 0 check (lines_received between 0 and line_count),
  lines_undone integer not null default 0 check (lines_undone between 0 and lines_received),
  -- Sums of the lines by currency, in minor units: as the file states them, and as they were moved.
  stated_totals jsonb,
  totals jsonb not null default '{}',
  created_at timestamptz not null,
  created_by text not null,
  moved_at timestamptz,
  undone_at timestamptz,
  undone_by text,
  undo_note text,
  primary key (program_id, move_in_id)
);
create unique index move_in_id on move_in (move_in_id);
create unique index move_in_once on move_in (program_id, sha256) where status in ('receiving', 'moved');

-- 3. The card that each line created or used, the transfer that holds the money of a hold, and the balance or amount. A card belongs
-- to the one line that moved it in and is not undone.
create table move_in_line (
  program_id uuid not null,
  move_in_id uuid not null,
  line_number integer not null check (line_number > 0),
  card_id uuid not null,
  transfer_id uuid,
  amount bigint not null check (amount >= 0),
  is_undone boolean not null default false,
  primary key (program_id, move_in_id, line_number)
);
create index move_in_line_card on move_in_line (program_id, card_id);
create unique index move_in_line_of_card on move_in_line (program_id, card_id) where transfer_id is null and not is_undone;

do $$
declare
  walled text;
begin
  foreach walled in array array['move_in', 'move_in_line'] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    execute format('create policy own_programs on %I to transfer_service_application
      using (coalesce(program_id = any ((select own_programs())::uuid[]), false))', walled);
    execute format('grant select, insert, update on %I to transfer_service_background', walled);
    execute format('grant select, insert, update on %I to transfer_service_application', walled);
  end loop;
end $$;

-- 4. Lines are added and undone with the rights of the requests of the card program, because only these change cards and holds.
drop policy own_programs on audit_entry;
create policy own_programs on audit_entry for insert to transfer_service_application with check (
  coalesce(program_id = any ((select own_programs())::uuid[]), false) and action in (
    'create_transfer', 'capture_transfer', 'cancel_transfer', 'reverse_transfer', 'update_transfer', 'create_card',
    'update_card', 'erase_card_holder', 'create_webhook', 'update_webhook', 'delete_webhook', 'roll_webhook_secret',
    'test_webhook', 'resend_event', 'replay_webhook', 'create_case', 'reply_to_case', 'close_case', 'resolve_attempt',
    'add_move_in_lines', 'undo_move_in'
  )
);
