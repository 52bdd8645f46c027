import { type Meanings, NOTHING, timeOf } from './meaning.ts';
import type { StoredRow } from './parameters.ts';
import type { Transaction } from './transaction.ts';

/** The lock of the switch. Everything that moves money shares it. */
export const SWITCH = 'switch';

const disabledRows = (transaction: Transaction): readonly StoredRow[] =>
  transaction.scan('switch', (row) => row.disabled === true);

/** The disabled scopes, as the statements that decide on transfers read them. */
export function disabledScopes(transaction: Transaction): readonly StoredRow[] {
  return disabledRows(transaction).map(({ program_id, transfer_type, disabled, reason, actor, since, until }) => ({
    ...{ programId: program_id, transferType: transfer_type, connectorId: null, disabled, reason, actor },
    since: timeOf(since),
    until: until === null ? null : timeOf(until),
  }));
}

/** The settings of the switch. */
export const SWITCH_STATEMENTS: Meanings = {
  *hold_switch(transaction) {
    yield* transaction.lock(SWITCH);
    return [{ pg_advisory_xact_lock: '' }];
  },

  read_switch(transaction) {
    const now = BigInt(Math.floor(transaction.clock()));
    const found = disabledRows(transaction).map((row) => ({ now, ...row, connector_id: null }));
    if (found.length > 0) return found;
    const scope = { program_id: null, transfer_type: null, connector_id: null };
    return [{ now, switch_id: null, ...scope, disabled: null, reason: null, actor: null, since: null, until: null }];
  },

  *write_switch(transaction, { values }) {
    const [switch_id, program_id, transfer_type, disabled, reason, actor, since, until] = values;
    const key = `${program_id} ${transfer_type}`;
    const setting = { disabled, reason, actor, since, until };
    const isThere = yield* transaction.update('switch', key, (row) => ({ ...row, ...setting }));
    if (!isThere) yield* transaction.insert('switch', key, { switch_id, program_id, transfer_type, ...setting });
    return NOTHING;
  },
};
