import { randomUUID } from 'node:crypto';
import { OPERATION_IDS, type OperationId } from '../../contract/operations.ts';
import { type TransferService, TransferServiceError } from '../../sdk/client.ts';
import { partsOf, toRaw } from '../fixtures/operations.ts';
import { callerOf, thingsOf } from '../fixtures/service-things.ts';
import { waitFor } from './process.ts';
import { sendRaw } from './raw-request.ts';

/** The result of a call: the record or the error record. Placeholders replace values that differ between runs. */
type Outcome = { readonly call: string; readonly result: unknown };

/**
 * Calls most operations of a new sandbox, with every kind of transfer, and returns the results. They are the same on
 * any PostgreSQL.
 */
export async function callTheUsual(client: TransferService): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const call = async <Result>(name: string, run: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      const result = await run();
      outcomes.push({ call: name, result: normalized(result) });
      return result;
    } catch (error) {
      if (!(error instanceof TransferServiceError)) throw error;
      const { Code, Status, Message, moneyMoved } = error;
      outcomes.push({ call: name, result: normalized({ Code, Status, Message, moneyMoved }) });
      return undefined;
    }
  };
  await callForCards(client, call);
  await callForTransfers(client, call);
  await callForOperators(client, call);
  return outcomes;
}

/** Calls every operation, after {@link callTheUsual}. The results are the same on any PostgreSQL. */
export async function callEveryOperation(client: TransferService): Promise<readonly Outcome[]> {
  const outcomes = [...(await callTheUsual(client))];
  for (const id of OPERATION_IDS.filter((one) => !NOT_CALLED.includes(one))) {
    const raw = toRaw(id, await partsOf(id, thingsOf(client)));
    const { status, fields } = await sendRaw(client.baseUrl, {
      ...raw,
      headers: { ...raw.headers, ...(await callerOf(id, client)) },
    });
    // The content of lists varies, for example because events get their positions later.
    outcomes.push({ call: id, result: { Status: status, fields: Object.keys(fields) } });
  }
  return outcomes;
}

/** Operations that need a sandbox with its own server, or a signature. */
const NOT_CALLED: readonly OperationId[] = ['stop_database', 'start_database', 'receive_notice'];

type Caller = <Result>(name: string, run: () => Promise<Result>) => Promise<Result | undefined>;

/** A date whose day cannot be a month, so that the tests detect dates with swapped parts. */
const NEVER = '2030-02-28';

async function callForCards({ cards }: TransferService, call: Caller): Promise<void> {
  await call('create_card', () =>
    cards.create({ card_id: 'one', expires_on: NEVER, last_four: '4242', holder_reference: 'a \\ b \' "c" NULL' }),
  );
  await call('create_card', () => cards.create({ card_id: 'two' }));
  await call('create_card, expired', () => cards.create({ card_id: 'old', expires_on: '2020-11-12' }));
  await call('create_card, again', () => cards.create({ card_id: 'two' }));
  const limits = { in: { daily_amount: 50_000, monthly_count: 50 }, out: { maximum_amount: 10_000 } };
  await call('update_card', () => cards.update('one', { limits }));
  await call('get_card', () => cards.get('one'));
  await call('get_card, none', () => cards.get('none'));
  await call('list_cards', () => cards.list({ limit: 3 }));
  await call('list_cards by last four digits', () => cards.list({ last_four: '4242', status: 'active' }));
  await call('list_cards by holder', () => cards.list({ holder_reference: 'x' }));
  await call('list_cards by the start of the id', () => cards.list({ card_id_prefix: 't', limit: 2 }));
  await call('update_card, its metadata', () => cards.update('one', { metadata: { order: 'A-1' } }));
  await call('list_cards by metadata', () => cards.list({ metadata_name: 'order', metadata_value: 'A-1' }));
  await call('list_cards that have expired', () => cards.list({ status: 'expired' }));
  await call('list_cards that are closed', () => cards.list({ status: 'closed' }));
}

async function callForTransfers({ transfers, cards }: TransferService, call: Caller): Promise<void> {
  const metadata = { order: 'NULL', note: 'back\\slash, {brace} and "quote"' };
  const idempotencyKey = randomUUID();
  const load = { amount: 5000, card_id: 'one', reference: 'first', metadata };
  const made = await call('create_transfer', () => transfers.create(load, { idempotencyKey }));
  await call('create_transfer, replayed', () => transfers.create(load, { idempotencyKey }));
  await call('create_transfer, other body', () => transfers.create({ ...load, amount: 1 }, { idempotencyKey }));
  await call('create_transfer, its reference again', () =>
    transfers.create({ amount: 1, card_id: 'two', reference: 'first' }),
  );
  await call('create_transfer, to an expired card', () => transfers.create({ amount: 1, card_id: 'old' }));
  await call('create_transfer, unload', () => transfers.create({ amount: 20, card_id: 'one', type: 'unload' }));
  await call('create_transfer, too much', () => transfers.create({ amount: 20_000, card_id: 'one', type: 'unload' }));
  await call('create_transfer, to another card', () =>
    transfers.create({ amount: 30, card_id: 'one', type: 'card_to_card', destination_card_id: 'two' }),
  );
  const held = await call('create_transfer, held', () =>
    transfers.create({ amount: 100, card_id: 'one', capture: 'manual' }),
  );
  await call('capture_transfer', () => transfers.capture(held?.transfer_id ?? '', { amount: 60 }));
  await call('list_holds', () => cards.holds('one'));
  const dropped = await call('create_transfer, held', () =>
    transfers.create({ amount: 100, card_id: 'one', type: 'unload', capture: 'manual' }),
  );
  await call('cancel_transfer', () => transfers.cancel(dropped?.transfer_id ?? ''));
  // This time must not yet be due when the clock is moved below. Otherwise, the result would depend on the machine's
  // speed.
  const later = new Date(Date.now() + 5 * 86_400_000).toISOString();
  await call('create_transfer, scheduled', () => transfers.create({ amount: 7, card_id: 'two', scheduled_for: later }));
  const id = made?.transfer_id ?? '';
  const reversal = await call('reverse_transfer', () => transfers.reverse(id, { amount: 50, description: 'part' }));
  await call('update_transfer', () => transfers.update(id, { metadata: { order: 'A-1' } }));
  await call('create_transfer_batch', () =>
    transfers.createBatch(
      [1, 2, 3].map((amount) => ({ amount, card_id: amount === 3 ? 'old' : 'two', idempotency_key: randomUUID() })),
    ),
  );
  await call('explain_transfer', () => transfers.explain(load));
  await call('get_transfer', () => transfers.get(id));
  await call('list_reversals', () => transfers.reversals(id));
  await call('get_reversal', () => transfers.reversal(reversal?.reversal_id ?? ''));
  await call('get_transfer_timeline', async () => {
    const { money, steps } = await transfers.timeline(id);
    // Events get their positions a moment later, and errors are also stored a moment later.
    return { money, steps: steps.filter(({ kind }) => kind !== 'event' && kind !== 'error') };
  });
  await call('list_likely_duplicates', async () => {
    const { data } = await cards.likelyDuplicates('one');
    return data.map(({ transfer, earlier }) => [transfer.amount, earlier.amount]);
  });
  await call('list_transfers', () => transfers.list({ card_id: 'one', limit: 50 }));
  const createdFrom = new Date(Date.now() - 3_600_000).toISOString();
  await call('list_transfers of a time', () => transfers.list({ created_from: createdFrom, card_id: 'one' }));
  await call('list_transfers by metadata', () => transfers.list({ metadata_name: 'order', metadata_value: 'A-1' }));
  await call('export_transfers', async () => linesOf(await transfers.export({ card_id: 'one' })));
  await call('card limits', () => cards.limits('one'));
  await call('list_postings', () => cards.postings('one'));
}

async function linesOf(text: AsyncIterable<string>): Promise<readonly string[]> {
  let whole = '';
  for await (const piece of text) whole += piece;
  return whole.split('\r\n');
}

async function callForOperators(client: TransferService, call: Caller): Promise<void> {
  const { programs, keys, deposits, withdrawals, errors, audit, sandbox, trialBalance } = client;
  const program = await call('create_program', () =>
    programs.create({ name: 'Second', currency: 'EUR', time_zone: 'Europe/Berlin' }),
  );
  const id = program?.program_id ?? '';
  await call('update_program', () => programs.update(id, { limits: { in: { daily_amount: 1_000_000 } } }));
  await call('get_program', () => programs.get(id));
  await call('list_programs', () => programs.list());
  await call('create_deposit', () => deposits.create(id, { amount: 900, description: 'wire' }));
  await call('create_withdrawal', () => withdrawals.create(id, { amount: 100 }));
  await call('list_funding_movements', () => programs.movements(id));
  await call('export_funding_movements', async () => linesOf(await programs.exportMovements(id)));
  await call('search_funding_movements', () => client.movements.search({ program_id: id }));
  await call('get_day', () => client.days.get(id));
  await call('export_day', async () => linesOf(await client.days.export(id)));
  await call('close_day', () => client.days.close(id, { day: '2020-02-29', note: 'compared' }));
  const key = await call('create_key', () =>
    keys.create({ name: 'shop', program_id: id, scopes: ['transfers:read'], expires_at: '2090-05-04T03:02:01Z' }),
  );
  await call('roll_key', () => keys.roll(key?.key_id ?? ''));
  await call('revoke_key', () => keys.revoke(key?.key_id ?? ''));
  await call('list_keys', () => keys.list());
  await call('list_access', () => client.access.list({ moves_money: true }));
  await call('export_access', async () => linesOf(await client.access.export()));
  await call('change_switch', () => client.switch.change({ disabled: true, reason: 'a test' }));
  await call('create_transfer, disabled', () => client.transfers.create({ amount: 1, card_id: 'one' }));
  await call('change_switch', () => client.switch.change({ disabled: false }));
  await call('get_switch', () => client.switch.get());
  await call('preview_switch', () => client.switch.preview({ program_id: id }));
  // The figures vary, so they are left out.
  await call('get_overview', async () => ({ hours: (await client.status.overview()).hours !== null }));
  await call('get_status', () => client.status.get());
  await call('move_clock', () => sandbox.moveClock({ seconds_ahead: 3 * 86_400 }));
  await call('create_transfer, three days on', () => client.transfers.create({ amount: 9, card_id: 'one' }));
  await call('move_clock', () => sandbox.moveClock({ seconds_ahead: 0 }));
  const refused = await client.cards.get('none').catch((error: unknown) => error);
  const requestId = (refused instanceof TransferServiceError && refused.requestId) || '';
  // Errors are recorded a moment after the response.
  await waitFor('the error to be recorded', () => errors.get(requestId).then(Boolean, () => false));
  for (const q of ['one', '4242', '12.34', 'first', 'insufficient_funds', id])
    await call(`search ${q.split('_')[0]}`, () => client.search.find({ q }));
  await call('inspect_error', () => errors.inspect(requestId));
  await call('get_request', () => client.requests.get(requestId));
  await call('inspect_request', () => client.requests.inspect(requestId));
  await call('list_audit_entries', () => audit.list({ limit: 5 }));
  await call('verify_audit', () => audit.verify());
  await call('the books', () => trialBalance.get());
}

/** Replaces values that differ between runs: ids, keys, hashes, the process's figures, and times (as days from now). */
function normalized(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replaceAll(/\b([a-z]+)_[0-9a-f]{32}\b/g, '$1_<id>')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<uuid>')
    .replaceAll(/\bts_[0-9A-Za-z_…]+/g, '<key>')
    .replaceAll(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replaceAll(/\b[0-9a-f]{32}\b/g, '<key>')
    // These are the process's figures in the status.
    .replaceAll(/"(idle|in_use|waiting|process_id|[a-z_]+_(?:bytes|seconds))":[\d.]+/g, '"$1":"<number>"')
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (moment) => {
      // The start or the end of a period depends on the calendar, not on the time of the call.
      if (/:00:00(\.0+)?Z$/.test(moment)) return moment;
      const days = (Date.parse(moment) - Date.now()) / 86_400_000;
      return Math.abs(days) > 1000 ? moment.slice(0, 19) : `<now ${Math.round(days)} days>`;
    });
  return JSON.parse(text);
}
