-- Needs: 0021
-- Locking a row takes the right to update one of its columns. The first card in a currency locks its card program, so that no
-- change of the program writes an event without the new funding account. The policy lets a program's id only be its own.
grant update (program_id) on program to transfer_service_application;
