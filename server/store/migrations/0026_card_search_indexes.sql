-- Needs: 0021
-- Transaction: none
-- Cards are found by what people know of them: the last four digits, the holder reference, the beginning of their id, and
-- any state but the usual one. Not program first where one value names few cards: two indexes that begin with the program
-- cost the same for a probe of the primary key while the table is young.

create index concurrently card_last_four on card (last_four, program_id, card_id) where last_four is not null;
create index concurrently card_holder on card (holder_reference, program_id, card_id) where holder_reference is not null;
-- In the order of bytes, which a range of beginnings needs, whatever the collation of the database.
create index concurrently card_name_start on card (program_id, name collate "C");
create index concurrently card_status on card (program_id, status, card_id) where status <> 'active';
