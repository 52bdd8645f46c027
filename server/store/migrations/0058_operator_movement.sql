-- Needs: 0021
-- What each person has withdrawn and reversed on the last day with such a movement, for OPERATOR_DAILY_LIMITS. A day that begins
-- replaces the one before, so the table has one row for each person and currency. It has no card program, because the limit is for
-- all of them together.

create table operator_movement (
  actor text not null,
  currency char(3) not null,
  day_start timestamptz not null,
  amount bigint not null check (amount >= 0),
  primary key (actor, currency)
);
grant select, insert, update on operator_movement to transfer_service_application, transfer_service_background;
