-- Below which available amount, in minor units of its currency, the funding of a program is low.
alter table program add column funding_low_threshold bigint
  check (funding_low_threshold between 1 and 999999999999);
