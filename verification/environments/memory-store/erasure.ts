import { raiseVersion } from './accounts.ts';
import { type Meanings, NOTHING } from './meaning.ts';
import type { StoredRow } from './parameters.ts';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const shown = ({ moment: _moment, holder_hash: _hash, next_at: _next, ...row }: StoredRow): StoredRow => row;

/** The erasure of the stored data about the holder of a card. */
export const ERASURE_STATEMENTS: Meanings = {
  read_erasures_of_transfers(transaction, { rows }) {
    return rows('sent').flatMap(({ program_id, transfer_id }) => {
      const transfer = transaction.find('transfer', String(transfer_id));
      if (transfer === undefined || transfer.program_id !== program_id) return [];
      const cards = [transfer.card_id, transfer.destination_card_id];
      return transaction
        .scan('card_erasure', (row) => cards.includes(row.card_id))
        .slice(0, 1)
        .map(({ card_name }) => ({ program_id, transfer_id, card_name }));
    });
  },

  read_card_erasure(transaction, { values: [programId, cardName] }) {
    return transaction
      .scan('card_erasure', (row) => row.program_id === programId && row.card_name === cardName)
      .map(shown);
  },

  *erase_holder_of_card(transaction, { values: [updatedAt, , cardId] }) {
    const key = String(cardId);
    const isWritten = yield* transaction.update('card', key, (card) => ({
      ...card,
      holder_reference: null,
      last_four: null,
      processor_token: null,
      updated_at: updatedAt,
    }));
    if (isWritten) yield* raiseVersion(transaction, transaction.newest('card', key)?.account_id);
    return NOTHING;
  },

  *insert_card_erasure(transaction, { values }) {
    const [events_from, program_id, card_id, card_name, requested_at, holder_hash] = values;
    // A trigger does this in PostgreSQL.
    const key = String(card_id);
    const isErased = yield* transaction.update('card', key, (card) =>
      Object.keys(card.metadata as object).length > 0 ? { ...card, metadata: {} } : undefined,
    );
    if (isErased) yield* raiseVersion(transaction, transaction.newest('card', key)?.account_id);
    yield* transaction.insert('card_erasure', key, {
      ...{ program_id, card_id, card_name, requested_at, events_from, holder_hash },
      completed_at: null,
      round: 1,
      step: 'transfers',
      cursor: null,
      next_at: new Date(transaction.clock()),
      transfers: 0n,
      events: 0n,
      errors: 0n,
    });
    return NOTHING;
  },

  read_due_card_erasures(transaction, { values: [count] }) {
    const now = transaction.clock();
    return transaction
      .scan('card_erasure', (row) => row.completed_at === null && (row.next_at as Date).getTime() <= now)
      .slice(0, Number(count))
      .map(shown);
  },

  lock_card_erasure(transaction, { values: [, cardId, round, step, cursor] }) {
    const key = String(cardId);
    const isThere = (row: StoredRow | undefined): boolean =>
      row?.completed_at === null && row.round === round && row.step === step && row.cursor === cursor;
    if (!isThere(transaction.find('card_erasure', key)) || !transaction.tryLock(`card_erasure ${key}`)) return NOTHING;
    return isThere(transaction.newest('card_erasure', key)) ? [{}] : NOTHING;
  },

  *move_card_erasure(transaction, { values }) {
    const [round, step, cursor, transfers, events, errors, pauseMilliseconds, , cardId] = values;
    yield* transaction.update('card_erasure', String(cardId), (row) => ({
      ...row,
      ...{ round, step, cursor },
      transfers: (row.transfers as bigint) + BigInt(Number(transfers)),
      events: (row.events as bigint) + BigInt(Number(events)),
      errors: (row.errors as bigint) + BigInt(Number(errors)),
      next_at: new Date(transaction.clock() + Number(pauseMilliseconds)),
    }));
    return NOTHING;
  },

  *complete_card_erasure(transaction, { values: [, cardId] }) {
    yield* transaction.update('card_erasure', String(cardId), (row) => ({
      ...row,
      completed_at: new Date(transaction.clock()),
      cursor: null,
      holder_hash: null,
    }));
    return NOTHING;
  },

  *postpone_card_erasure(transaction, { values: [pauseMilliseconds, , cardId] }) {
    yield* transaction.update('card_erasure', String(cardId), (row) => ({
      ...row,
      next_at: new Date(transaction.clock() + Number(pauseMilliseconds)),
    }));
    return NOTHING;
  },

  *lock_account_of_card(transaction, { values: [, cardId] }) {
    const accountId = String(transaction.find('card', String(cardId))?.account_id);
    const row = yield* transaction.lockRow('account', accountId);
    return row === undefined ? NOTHING : [{ account_id: accountId }];
  },

  *raise_version_of_card(transaction, { values: [, cardId] }) {
    yield* raiseVersion(transaction, transaction.find('card', String(cardId))?.account_id);
    return NOTHING;
  },

  *lock_transfers_of_card(transaction, { values: [programId, cardId, after, count] }) {
    const isNext = (row: StoredRow): boolean =>
      row.program_id === programId &&
      (row.card_id === cardId || row.destination_card_id === cardId) &&
      String(row.transfer_id) > String(after ?? FIRST_ID);
    const next = transaction
      .scan('transfer', isNext)
      .map(({ transfer_id }) => String(transfer_id))
      .sort()
      .slice(0, Number(count));
    const found: StoredRow[] = [];
    for (const transfer_id of next) {
      const row = yield* transaction.lockRow('transfer', transfer_id);
      if (row === undefined) continue;
      const isDescribed = (one: StoredRow): boolean => one.transfer_id === transfer_id && one.description !== null;
      const hasTexts =
        row.description !== null ||
        Object.keys(row.metadata as object).length > 0 ||
        transaction.scan('reversal', isDescribed).length > 0;
      found.push({ transfer_id, has_texts: hasTexts });
    }
    return found;
  },

  *erase_transfers(transaction, { values: [, transferIds] }) {
    for (const id of transferIds as string[]) {
      yield* transaction.update('transfer', id, (row) => ({ ...row, description: null, metadata: {} }));
    }
    return NOTHING;
  },

  *erase_metadata(transaction, { values: [, transferIds] }) {
    const ids = transferIds as string[];
    for (const row of transaction.scan('transfer_metadata', (one) => ids.includes(String(one.transfer_id)))) {
      yield* transaction.remove('transfer_metadata', `${row.transfer_id} ${row.name} ${row.value}`);
    }
    return NOTHING;
  },

  *erase_reversals(transaction, { values: [, transferIds] }) {
    const ids = transferIds as string[];
    for (const { reversal_id } of transaction.scan('reversal', (one) => ids.includes(String(one.transfer_id)))) {
      yield* transaction.update('reversal', String(reversal_id), (row) => ({ ...row, description: null }));
    }
    return NOTHING;
  },

  *erase_notes_of_attempts(transaction, { values: [, transferIds] }) {
    const isNoted = (row: StoredRow): boolean =>
      (transferIds as string[]).includes(String(row.transfer_id)) && row.resolved_by !== null && row.detail !== null;
    for (const { attempt_id } of transaction.scan('processor_attempt', isNoted)) {
      yield* transaction.update('processor_attempt', String(attempt_id), (row) => ({ ...row, detail: null }));
    }
    return NOTHING;
  },

  // The simulation never closes a break.
  erase_notes_of_breaks() {
    return NOTHING;
  },

  // The simulation has no rules for approvals, so no request waits for one.
  expire_approvals_about() {
    return NOTHING;
  },

  // Only earlier versions stored the bodies of responses, so there are none here.
  erase_responses() {
    return NOTHING;
  },

  *write_event_payloads(transaction, { rows }) {
    for (const { batch_id, index, payload } of rows('events')) {
      yield* transaction.update('event', `${batch_id} ${index}`, (row) => ({ ...row, payload }));
    }
    return NOTHING;
  },

  // The simulation stores no attempt of a webhook, no error and no case.
  erase_webhook_answers() {
    return NOTHING;
  },

  erase_errors() {
    return [{ count: 0, erased: 0, last_request_id: null }];
  },

  erase_texts_of_cases() {
    return [{ last_case_id: null }];
  },

  *reread_webhooks(transaction, { values: [programId] }) {
    const hasDescription = (row: StoredRow): boolean => row.program_id === programId || row.program_id === null;
    for (const { webhook_id } of transaction.scan('webhook', hasDescription)) {
      yield* transaction.update('webhook', String(webhook_id), (row) => ({
        ...row,
        revision: (row.revision as bigint) + 1n,
      }));
    }
    return NOTHING;
  },

  /** The unnamed statement `readEventsOfCard`. */
  ''(transaction, { values: [from, after, count, programId, cardName, cardId] }) {
    const isNext = (row: StoredRow): boolean =>
      (row.created_at as Date) >= (from as Date) && String(row.batch_id) > String(after ?? FIRST_ID);
    const events = transaction
      .scan('event', isNext)
      .sort((one, other) => (String(one.batch_id) < String(other.batch_id) ? -1 : 1));
    const last = events.slice(0, Number(count)).at(-1)?.batch_id;
    if (last === undefined) return NOTHING;
    const isOfCard = ({ transfer_id }: { transfer_id: string }): boolean => {
      const { 1: a = '' } = /^tr_(.*)$/.exec(transfer_id) ?? [];
      const id = `${a.slice(0, 8)}-${a.slice(8, 12)}-${a.slice(12, 16)}-${a.slice(16, 20)}-${a.slice(20)}`;
      const transfer = transaction.find('transfer', id);
      return transfer?.card_id === cardId || transfer?.destination_card_id === cardId;
    };
    const found = events.filter((row) => {
      if (String(row.batch_id) > String(last) || row.program_id !== programId) return false;
      const payload = String(row.payload);
      if (payload.includes(`${payload.startsWith('[') ? '' : 'card_id":'}${JSON.stringify(cardName)}`)) return true;
      return row.type === 'reversal.completed' && isOfCard(JSON.parse(payload));
    });
    if (found.length === 0)
      return [{ last_batch_id: last, batch_id: null, index: null, created_at: null, payload: null }];
    return found.map(({ batch_id, index, created_at, payload, program_id, subject_id }) => ({
      last_batch_id: last,
      ...{ batch_id, index, created_at, payload, program_id, subject_id },
    }));
  },
};
