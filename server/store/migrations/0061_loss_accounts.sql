-- Needs: 0021
-- Accounts of the kind `loss`, for differences that the operator bears. A later migration validates the constraint, which is wider
-- than the one before, so every row satisfies it.

alter table account
  drop constraint account_kind_check,
  add constraint account_kind_check check (
    kind in ('funding', 'card', 'clearing', 'suspense', 'loss', 'fee', 'receivable', 'exchange', 'world')
  ) not valid;
