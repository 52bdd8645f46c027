-- Needs: 0021
-- Postings with the purpose `correction`, which book the difference of a break. A later migration validates the constraint, which is
-- wider than the one before, so every row satisfies it.

alter table posting
  drop constraint posting_purpose_check,
  add constraint posting_purpose_check check (
    purpose in ('load', 'unload', 'card_to_card', 'reversal', 'deposit', 'withdrawal', 'correction')
  ) not valid;
