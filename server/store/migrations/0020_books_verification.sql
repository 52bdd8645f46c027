-- Needs: 0018

-- The verifications of the books that have ended: every balance compared with its postings and holds, and the sum of each
-- currency. Times are those of the database's clock.
create table books_verification (
  finished_at timestamptz primary key,
  started_at timestamptz not null,
  balanced boolean not null,
  accounts bigint not null check (accounts >= 0),
  -- At most 100 are counted.
  differing_accounts integer not null check (differing_accounts >= 0),
  differing_holds bigint not null check (differing_holds >= 0),
  unbalanced_currencies text[] not null
);
grant select, insert, delete on books_verification to transfer_service_background;
