import type { Statement } from '../connection/database.ts';
import { NUMBER, statement } from '../sql.ts';
import { isEnabled } from '../switch.ts';

const FIND_EXPIRED_HOLDS = statement(
  'find_expired_holds',
  { count: NUMBER },
  `select program_id, transfer_id from hold where expires_at <= (select service_now())
    order by expires_at limit :count`,
);

/**
 * Finds holds past their end, oldest first. The clock is read in a subquery, so that it is an index condition; called
 * for each row, it would be compared with every open hold.
 */
export function findExpiredHolds(count: number): Statement {
  return FIND_EXPIRED_HOLDS({ count });
}

/** SQL: the connector of the card of a row of `transfer`. */
export const CONNECTOR_OF_TRANSFER = `(
        select connector_id from card where card.program_id = transfer.program_id and card.card_id = transfer.card_id
      )`;

const FIND_DUE_TRANSFERS = statement(
  'find_due_transfers',
  { count: NUMBER },
  `select program_id, transfer_id from transfer
    where status = 'scheduled' and scheduled_for <= (select service_now()) and ${isEnabled({
      programId: 'transfer.program_id',
      type: 'transfer.type',
      connectorId: CONNECTOR_OF_TRANSFER,
      now: '(select service_now())',
    })} and not exists (
      select from connector_state where opened_at is not null and connector_id = ${CONNECTOR_OF_TRANSFER}
    )
    order by scheduled_for limit :count`,
);

/**
 * Finds scheduled transfers that are due, oldest first. Transfers that are disabled, or whose processor cannot be reached, wait
 * and never block the others.
 */
export function findDueTransfers(count: number): Statement {
  return FIND_DUE_TRANSFERS({ count });
}
