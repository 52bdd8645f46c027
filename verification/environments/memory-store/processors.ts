import { refuseChanged, shown } from './accounts.ts';
import { BREAKER_STATEMENTS } from './breakers.ts';
import { todayOf } from './cards.ts';
import { type Meanings, NOTHING, timeOf } from './meaning.ts';
import { NOTICE_STATEMENTS } from './notices.ts';
import { columnsOf, type Given, type StoredRow } from './parameters.ts';
import { disabledScopes } from './switch.ts';
import type { Run, Transaction } from './transaction.ts';

const CHANGED = [
  ...(['status', 'tries', 'looks', 'misses', 'acknowledged', 'unknown_since', 'next_at', 'code'] as const),
  ...(['processor_reference', 'retry_after_seconds', 'detail', 'resolved_by', 'updated_at'] as const),
];

const byId = (one: StoredRow, other: StoredRow): number => (String(one.attempt_id) < String(other.attempt_id) ? -1 : 1);

/** Columns that are sent as `bigint` and stored as `integer`. */
function asStored(sent: StoredRow): StoredRow {
  const { retry_after_seconds: seconds } = sent;
  return { ...sent, retry_after_seconds: seconds === null ? null : Number(seconds) };
}

function ofProgram(transaction: Transaction, { program_id, attempt_id }: StoredRow): StoredRow | undefined {
  const row = transaction.find('processor_attempt', String(attempt_id));
  return row?.program_id === program_id ? row : undefined;
}

/** Locks the rows that are unchanged since the decision, in the order of their ids. Changes them and returns them. */
function* change(
  transaction: Transaction,
  sent: readonly StoredRow[],
  isAsDecided: (row: StoredRow, one: StoredRow) => boolean,
  changed: (row: StoredRow, one: StoredRow) => StoredRow,
): Run<readonly StoredRow[]> {
  const written: StoredRow[] = [];
  for (const one of sent.toSorted(byId)) {
    const before = ofProgram(transaction, one);
    if (before === undefined || !isAsDecided(before, one)) continue;
    const key = String(one.attempt_id);
    const isWritten = yield* transaction.update('processor_attempt', key, (row) =>
      isAsDecided(row, one) ? { ...row, ...changed(row, one) } : undefined,
    );
    if (isWritten) written.push(transaction.newest('processor_attempt', key) ?? {});
  }
  return written;
}

const isAsReported = (row: StoredRow, { status_before, looks_before, tries_before }: StoredRow): boolean =>
  row.status === status_before && row.looks === looks_before && row.tries === tries_before;

const reported = (transaction: Transaction, { rows }: Given): Run<readonly StoredRow[]> =>
  change(transaction, rows('sent'), isAsReported, (_, one) => columnsOf(asStored(one), CHANGED));

const existing = (rows: readonly (StoredRow | undefined)[]): readonly StoredRow[] =>
  rows.filter((row) => row !== undefined);

function lastOf(transaction: Transaction, { program_id, transfer_id }: StoredRow): StoredRow | undefined {
  const isWanted = (row: StoredRow): boolean => row.program_id === program_id && row.transfer_id === transfer_id;
  return transaction.scan('processor_attempt', isWanted).toSorted(byId).at(-1);
}

function isDisabled(transaction: Transaction, programId: unknown, type: unknown): boolean {
  return disabledScopes(transaction).some(
    ({ programId: program, transferType, until }) =>
      (until === null || Number(until) > transaction.clock()) &&
      (program === null || program === programId) &&
      (transferType === null || transferType === type),
  );
}

const later = (transaction: Transaction, seconds: number): Date => new Date(transaction.clock() + seconds * 1000);

/** Adds the data that is checked again before an order is sent. */
function claimed(transaction: Transaction, attempt: StoredRow): StoredRow {
  const { program_id, card_id, transfer_id } = attempt;
  const card = transaction.find('card', String(card_id)) ?? {};
  const type = transaction.find('transfer', String(transfer_id))?.type;
  return {
    ...attempt,
    ...{ card_name: card.name, card_status: card.status, expires_on: card.expires_on },
    ...{ processor_token: card.processor_token, transfer_type: type },
    today: todayOf(transaction, program_id),
    is_disabled: isDisabled(transaction, program_id, type),
    now: new Date(transaction.clock()),
  };
}

const BREAK = [
  ...(['break_id', 'kind', 'connector_id', 'program_id', 'attempt_id', 'transfer_id', 'amount', 'currency'] as const),
  ...(['expected', 'found', 'created_at', 'stated_amount'] as const),
];

const named = (values: readonly unknown[]): StoredRow =>
  Object.fromEntries(BREAK.map((name, index) => [name, values[index]]));

/** Inserts a break, or reopens the attempt's break with a new report. Returns undefined if it had that report. */
function* insertBreak(transaction: Transaction, values: readonly unknown[]): Run<StoredRow | undefined> {
  const sent = named(values);
  const { connector_id, attempt_id, kind, found } = sent;
  const isSame = (row: StoredRow): boolean =>
    row.connector_id === connector_id && row.attempt_id === attempt_id && row.kind === kind;
  const before = yield* transaction.findUnique('processor_break', `${connector_id} ${attempt_id} ${kind}`, isSame);
  if (before === undefined) {
    const row = { ...sent, amount: BigInt(String(sent.amount)), sent_attempt_id: null, closed_at: null };
    yield* transaction.insert('processor_break', String(sent.break_id), row);
    return row;
  }
  const said = String(before.found);
  const isNew = !said.split(', ').includes(String(found)) && said.length < Number(values[BREAK.length]);
  if (!isNew && before.stated_amount === sent.stated_amount) return undefined;
  const opened = {
    ...{ found: isNew ? `${said}, ${found}` : said, stated_amount: sent.stated_amount },
    ...{ closed_at: null, closed_by: null, resolution: null },
  };
  yield* transaction.update('processor_break', String(before.break_id), (row) => ({ ...row, ...opened }));
  return { ...before, ...opened };
}

/** Attempts at processors. */
export const PROCESSOR_STATEMENTS: Meanings = {
  ...NOTICE_STATEMENTS,
  ...BREAKER_STATEMENTS,

  *insert_attempts(transaction, { rows }) {
    for (const sent of rows('sent')) {
      yield* transaction.insert('processor_attempt', String(sent.attempt_id), asStored(sent));
    }
    return NOTHING;
  },

  read_attempts_of_transfers(transaction, { rows }) {
    return existing(rows('sent').map((wanted) => lastOf(transaction, wanted)));
  },

  read_attempts_for_report(transaction, { rows }) {
    return existing(rows('sent').map((wanted) => ofProgram(transaction, wanted)));
  },

  *lock_attempts_for_report(transaction, { rows }) {
    const wanted = rows('sent').filter((one) => ofProgram(transaction, one) !== undefined);
    const ids = wanted.map(({ attempt_id }) => String(attempt_id));
    return yield* transaction.lockRows('processor_attempt', ids.sort());
  },

  read_attempt(transaction, { values: [attemptId] }) {
    const row = transaction.find('processor_attempt', String(attemptId));
    if (row === undefined) return NOTHING;
    const card = transaction.find('card', String(row.card_id));
    return [{ ...row, card_name: card?.name, now: new Date(transaction.clock()) }];
  },

  *update_reported_attempts(transaction, given) {
    const written = yield* reported(transaction, given);
    refuseChanged(written.length, given.values[0]);
    return [{ case: null }];
  },

  *update_attempt(transaction, given) {
    return (yield* reported(transaction, given)).map(({ attempt_id }) => ({ attempt_id }));
  },

  *claim_attempts(transaction, { values: [connectorIds, count, readyLease, lease] }) {
    const isDue = ({ next_at, connector_id }: StoredRow): boolean =>
      timeOf(next_at) <= transaction.clock() && (connectorIds as string[]).includes(String(connector_id));
    const taken: StoredRow[] = [];
    const due = transaction
      .scan('processor_attempt', isDue)
      .sort((one, other) => timeOf(one.next_at) - timeOf(other.next_at));
    for (const { attempt_id } of due) {
      if (taken.length === Number(count)) break;
      const key = String(attempt_id);
      if (!transaction.tryLock(`processor_attempt ${key}`)) continue;
      const before = transaction.newest('processor_attempt', key);
      if (before === undefined || !isDue(before)) continue;
      const next_at = later(transaction, Number(before.status === 'ready' ? readyLease : lease));
      const leased = { next_at, updated_at: new Date(transaction.clock()) };
      yield* transaction.update('processor_attempt', key, (row) => ({ ...row, ...leased }));
      taken.push(claimed(transaction, { ...before, ...leased }));
    }
    return taken;
  },

  *mark_attempts_sent(transaction, { rows, values: [window] }) {
    const isReady = (row: StoredRow, { tries, looks }: StoredRow): boolean =>
      row.status === 'ready' && row.tries === tries && row.looks === looks;
    const isAllowed = (sent: StoredRow): boolean => {
      const { program_id, kind } = ofProgram(transaction, sent) ?? {};
      return !isDisabled(transaction, program_id, kind === 'push' ? 'load' : 'unload');
    };
    const now = new Date(transaction.clock());
    const until = later(transaction, Number(window) / 1000);
    return yield* change(transaction, rows('sent').filter(isAllowed), isReady, (_, { tries }) => ({
      ...{ status: 'sent', tries: Number(tries) + 1, sent_at: now, not_after: until, next_at: until, updated_at: now },
    }));
  },

  *mark_late_approval(transaction, { values: [late_approval_at, break_id, , attemptId] }) {
    const noted = { late_approval_at, break_id, late_approval_settled_at: null };
    yield* transaction.update('processor_attempt', String(attemptId), (row) => ({ ...row, ...noted }));
    return NOTHING;
  },

  *insert_processor_break(transaction, { values }) {
    yield* insertBreak(transaction, values);
    return NOTHING;
  },

  *record_contradiction(transaction, { values }) {
    const written = yield* insertBreak(transaction, values);
    if (written === undefined) return NOTHING;
    const { break_id, attempt_id } = written;
    const { created_at: contradicted_at, found: contradiction } = named(values);
    const noted = { contradicted_at, contradiction, contradiction_break_id: break_id, contradiction_settled_at: null };
    yield* transaction.update('processor_attempt', String(attempt_id), (row) => ({ ...row, ...noted }));
    return NOTHING;
  },

  *restate_contradiction(transaction, { values: [stated, connectorId, attemptId] }) {
    const isWanted = (row: StoredRow): boolean =>
      row.connector_id === connectorId && row.attempt_id === attemptId && row.kind === 'contradiction';
    for (const { break_id } of transaction.scan('processor_break', isWanted)) {
      yield* transaction.update('processor_break', String(break_id), (row) => ({ ...row, stated_amount: stated }));
    }
    return NOTHING;
  },

  find_processor_break(transaction, { values: [connectorId, attemptId, kind] }) {
    const isWanted = (row: StoredRow): boolean =>
      row.connector_id === connectorId && row.attempt_id === attemptId && row.kind === kind;
    return transaction.scan('processor_break', isWanted).map(({ break_id }) => ({ break_id }));
  },

  *create_suspense_account(transaction, { values: [programId, accountId, currency, floor] }) {
    const isThere = (row: StoredRow): boolean =>
      row.owner_id === programId && row.kind === 'suspense' && row.currency === currency;
    const before = yield* transaction.findUnique('account', `suspense ${programId} ${currency}`, isThere);
    if (before !== undefined) return NOTHING;
    yield* transaction.insert('account', String(accountId), {
      ...{ program_id: programId, account_id: accountId, kind: 'suspense', owner_id: programId, currency },
      ...{ floor: BigInt(String(floor)), balance: 0n, held: 0n, incoming: 0n, sequence: 0n, version: 0n },
      created_at: new Date(transaction.clock()),
    });
    return NOTHING;
  },

  *lock_suspense_and_clearing(transaction, { values: [programId, currency, cardId] }) {
    const card = transaction.find('card', String(cardId));
    const isWanted = ({ kind, owner_id, account_id, currency: own }: StoredRow): boolean =>
      own === currency &&
      ((kind === 'suspense' && owner_id === programId) || (kind === 'clearing' && account_id === card?.account_id));
    const ids = transaction.scan('account', isWanted).map(({ account_id }) => String(account_id));
    return (yield* transaction.lockRows('account', ids.sort())).map(shown);
  },
};
