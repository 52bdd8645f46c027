-- Needs: 0021
-- Transaction: none

create unique index concurrently move_in_line_of_one_card on move_in_line (program_id, card_id)
  where kind is null and transfer_id is null and not is_undone;

create unique index concurrently move_in_line_reference on move_in_line (program_id, reference)
  where reference is not null and not is_undone;

drop index concurrently if exists move_in_line_of_card;
