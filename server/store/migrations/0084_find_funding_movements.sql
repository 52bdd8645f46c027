-- Needs: 0021
-- Transaction: none
-- Deposits and withdrawals of all card programs are found by their id, which contains the time.

create index concurrently funding_movement_id on funding_movement (movement_id);

create index concurrently funding_movement_withdrawal on funding_movement (movement_id) where kind = 'withdrawal';
