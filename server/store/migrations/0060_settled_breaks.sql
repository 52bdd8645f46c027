-- Needs: 0021
-- Closing a break can book the difference between its processor and the books: against the funding, the card or a loss.

-- `stated_amount`: what the processor says that it has moved, in minor units of the break's currency. Null if that is not known.
alter table processor_break
  add column stated_amount bigint,
  add column booked_against text check (booked_against in ('funding', 'clearing', 'loss'));

-- The last statement of several counts.
update processor_break set stated_amount = case
    when regexp_replace(found, '^.*, ', '') = 'approved' then amount
    when regexp_replace(found, '^.*, ', '') in ('declined', 'reversed', 'not_executed') then 0
  end
  where kind = 'contradiction';

-- What bookings have added to what the books say that the processor has moved, in minor units; negative for less.
alter table processor_attempt add column corrected_amount bigint not null default 0;

-- A card's statement names the transfer of a line that a break has caused.
create policy own_programs on processor_break for select to transfer_service_application
  using (coalesce(program_id = any ((select own_programs())::uuid[]), false));
grant select on processor_break to transfer_service_application;
