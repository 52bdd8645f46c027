import type { Statement } from '../connection/database.ts';
import { NUMBER, statement } from '../sql.ts';

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

const FIND_DUE_TRANSFERS = statement(
  'find_due_transfers',
  { count: NUMBER },
  `select program_id, transfer_id from transfer
    where status = 'scheduled' and scheduled_for <= (select service_now()) and not exists (
      select from switch
      where switch.disabled and (switch.until is null or switch.until > (select service_now()))
        and (switch.program_id is null or switch.program_id = transfer.program_id)
        and (switch.transfer_type is null or switch.transfer_type = transfer.type)
    )
    order by scheduled_for limit :count`,
);

/**
 * Finds scheduled transfers that are due, oldest first. Transfers that are disabled wait, and never block the others.
 */
export function findDueTransfers(count: number): Statement {
  return FIND_DUE_TRANSFERS({ count });
}
