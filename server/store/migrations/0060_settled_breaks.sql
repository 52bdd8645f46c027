-- Needs: 0021
-- Closing a break can book the difference between its processor and the books: against the funding, the card or a loss.

-- `difference`: how much more the processor has moved than the transfer, in minor units; negative for less. Null if not known.
alter table processor_break
  add column difference bigint,
  add column booked_amount bigint not null default 0,
  add column booked_against text check (booked_against in ('funding', 'clearing', 'loss'));

update processor_break set difference = amount where kind = 'late_approval';
update processor_break set difference = -amount
  where kind = 'contradiction' and expected = 'approved' and found in ('declined', 'reversed', 'not_executed');

-- All rows satisfy the narrower constraints that these replace, so checking them again would only hold the locks.
alter table posting
  drop constraint posting_purpose_check,
  add constraint posting_purpose_check check (
    purpose in ('load', 'unload', 'card_to_card', 'reversal', 'deposit', 'withdrawal', 'correction')
  ) not valid;
alter table account
  drop constraint account_kind_check,
  add constraint account_kind_check check (
    kind in ('funding', 'card', 'clearing', 'suspense', 'loss', 'fee', 'receivable', 'exchange', 'world')
  ) not valid;

-- A card's statement names the transfer of a line that a break has caused.
create policy own_programs on processor_break for select to transfer_service_application
  using (coalesce(program_id = any ((select own_programs())::uuid[]), false));
grant select on processor_break to transfer_service_application;
