import { createHash } from 'node:crypto';
import {
  type AddComparedCardsBody,
  type AddMoveInLinesBody,
  type AddSettlementLinesBody,
  type ComparisonRecord,
  type CreateMoveInBody,
  type MoveInRecord,
  type TransferService,
  TransferServiceError,
} from '../../../sdk/client.ts';
import { pendingApproval } from '../../fixtures/service-things.ts';
import { type ServiceProcess, waitFor } from '../../harness/process.ts';

/** A script that sets `window.planted` if the console shows it as HTML. */
export const SCRIPT = `<script>planted=1</script><img src=x onerror="planted=1">'"&amp;`;

/** A card id with characters that have a special meaning in paths. An id can contain any visible ASCII character. */
export const ODD_CARD = `a/b?c=d#e%2F..'"<script>planted=1</script>`;

/** The records that the screens show, by the names of the path parameters. */
export type World = {
  readonly program_id: string;
  /** A card with money, a hold, limits and a statement. */
  readonly card_id: string;
  /** A completed and partially reversed transfer, with a script in each of its text fields. */
  readonly transfer_id: string;
  /** A hold that has not been captured yet. */
  readonly held_id: string;
  /** A request that was refused for lack of funds. */
  readonly request_id: string;
  readonly webhook_id: string;
  /** A case about that request with a reply by support, and a script in each of its text fields. */
  readonly case_id: string;
  /** An open incident of the program, with a script in each of its text fields. */
  readonly incident_id: string;
  /** A request that waits for an approval. */
  readonly approval_id: string;
  /** A settlement file with a difference, and a script in its name and in the reference of a line. */
  readonly file_id: string;
  /** The break about that difference, whose transfer is the program's. */
  readonly break_id: string;
  /** A move-in of another program, with a script in its name. */
  readonly move_in_id: string;
  /** A comparison of that program with differences, and a script in its name and in the reference of a hold. */
  readonly comparison_id: string;
};

/**
 * Creates a card program with a sample of everything that screens show, and a script in every field for free text. It uses the
 * API like any caller.
 */
export async function makeWorld({ client }: ServiceProcess): Promise<World> {
  const { program_id } = await client.programs.create({ name: `Shop ${SCRIPT}`, currency: 'USD' });
  const options = { programId: program_id };
  await client.deposits.create(program_id, { amount: 1_000_000, description: `Deposit ${SCRIPT}` });
  await client.withdrawals.create(program_id, { amount: 1234, description: `Withdrawal ${SCRIPT}` });
  await client.programs.update(program_id, { limits: { in: { daily_amount: 900_000 } } });
  const webhook = await client.webhooks.create(
    { url: 'http://127.0.0.1:9/nobody-listens', description: `Webhook ${SCRIPT}` },
    options,
  );
  const holder = { holder_reference: `Holder ${SCRIPT}`, last_four: '4242' };
  const limits = { limits: { in: { daily_amount: 800_000, monthly_amount: 850_000 } } };
  for (const card_id of ['card_one', 'card_two', ODD_CARD]) {
    await client.cards.create({ card_id, ...holder, ...limits }, options);
  }
  const texts = { description: `Gift ${SCRIPT}`, metadata: { note: SCRIPT } };
  const transfer = await client.transfers.create(
    { amount: 5000, card_id: 'card_one', reference: `invoice ${SCRIPT}`, ...texts },
    { ...options, idempotencyKey: 'order-1' },
  );
  await client.transfers.reverse(transfer.transfer_id, { amount: 1000, description: `Mistake ${SCRIPT}` }, options);
  for (const card_id of ['card_two', ODD_CARD])
    await client.transfers.create({ amount: 700, card_id, ...texts }, options);
  // Repeats the first transfer, so that the screens show likely duplicates.
  await client.transfers.create({ amount: 5000, card_id: 'card_one', ...texts }, options);
  const held = await client.transfers.create(
    { amount: 300, card_id: 'card_one', type: 'unload', capture: 'manual', ...texts },
    options,
  );
  await client.transfers.create(
    { amount: 20, card_id: 'card_one', scheduled_for: new Date(Date.now() + 86_400_000).toISOString(), ...texts },
    options,
  );
  await client.switch.change({ disabled: true, type: 'card_to_card', program_id, reason: `Fraud ${SCRIPT}` });
  await client.keys.create({ name: `Key ${SCRIPT}`, program_id, scopes: ['transfers:read'] });
  const request_id = await refusedRequest(() =>
    client.transfers.create({ amount: 99_999_999, card_id: 'card_one', type: 'unload', ...texts }, options),
  );
  const ids = { transfer_id: transfer.transfer_id, held_id: held.transfer_id, webhook_id: webhook.webhook_id };
  return {
    program_id,
    card_id: 'card_one',
    request_id,
    approval_id: await pendingApproval(client),
    ...ids,
    ...(await makeSupport(client, program_id, request_id)),
    ...(await makeSettlement(client, program_id)),
    ...(await makeMoveIn(client)),
  };
}

/** Loads a card at the simulator, and imports a settlement file with a different amount. */
async function makeSettlement(client: TransferService, program_id: string) {
  const options = { programId: program_id };
  const card = { card_id: 'card_settled', connector_id: 'simulator', processor_token: 'sim_approve' };
  await client.cards.create(card, options);
  const { transfer_id } = await client.transfers.create({ amount: 1000, card_id: card.card_id }, options);
  const read = async () => (await client.transfers.attempts(transfer_id, options)).data[0];
  await waitFor('the approval', async () => (await read())?.status === 'approved');
  const line = { kind: 'push', amount: 900, currency: 'USD', fee: 10, settled_on: '2026-01-31' } as const;
  const lines = [{ ...line, attempt_id: (await read())?.attempt_id ?? '', processor_reference: `ref ${SCRIPT}` }];
  return importFile(client, `settlement ${SCRIPT}.csv`, lines);
}

/** Moves a card in, and compares it with a balance file that has another balance, another hold and another card. */
async function makeMoveIn(client: TransferService) {
  const { program_id } = await client.programs.create({ name: `Moved ${SCRIPT}`, currency: 'USD' });
  const expires_at = new Date(Date.now() + 5 * 86_400_000).toISOString();
  const { move_in_id } = await moveCardsIn(client, { program_id, name: `cards ${SCRIPT}.csv` }, [
    { kind: 'card', card_id: 'moved-one', balance: 12_500, holder_reference: `Holder ${SCRIPT}` },
    { kind: 'hold', card_id: 'moved-one', amount: 2000, expires_at, reference: `hotel ${SCRIPT}` },
  ]);
  const { comparison_id } = await compareCards(client, { program_id, name: `balances ${SCRIPT}.csv` }, [
    { card_id: 'moved-one', balance: 13_000, holds: [{ amount: 500, reference: `fuel ${SCRIPT}` }] },
    { card_id: 'moved-two', balance: 700 },
  ]);
  return { move_in_id, comparison_id };
}

type AboutFile = { readonly program_id: string; readonly name: string };

/** The service takes so many lines in one request. */
const MAX_LINES = 1000;

/** Creates a move-in, and adds its lines. */
export async function moveCardsIn(
  client: TransferService,
  about: AboutFile & Pick<CreateMoveInBody, 'totals'>,
  lines: AddMoveInLinesBody['lines'],
): Promise<MoveInRecord> {
  let record = await createMoveIn(client, about, lines.length);
  const { move_in_id: id } = record;
  for (let sent = 0; sent < lines.length; sent += MAX_LINES) {
    record = await client.moveIns.addLines(id, { first_line: sent + 1, lines: lines.slice(sent, sent + MAX_LINES) });
  }
  return record;
}

/** Creates a move-in without its lines. */
export function createMoveIn(
  client: TransferService,
  about: AboutFile & Pick<CreateMoveInBody, 'totals'>,
  lineCount: number,
): Promise<MoveInRecord> {
  const as_of = '2026-01-31T22:00:00.000Z';
  return client.moveIns.create({ ...about, as_of, sha256: newSha256(), line_count: lineCount });
}

/** Compares a card program with the cards of a balance file. The cards must be in the order of their ids. */
export async function compareCards(
  client: TransferService,
  about: AboutFile,
  cards: AddComparedCardsBody['cards'],
): Promise<ComparisonRecord> {
  const created = await client.comparisons.create({ ...about, sha256: newSha256(), card_count: cards.length });
  let record: ComparisonRecord = created;
  while (record.status === 'comparing') {
    const first_card = record.cards_received + 1;
    record = await client.comparisons.addCards(record.comparison_id, {
      first_card,
      cards: cards.slice(first_card - 1),
    });
  }
  return record;
}

const newSha256 = (): string => createHash('sha256').update(crypto.randomUUID()).digest('hex');

/** Imports a settlement file of the simulator whose lines open a break, and waits until it is compared. */
export async function importFile(
  client: TransferService,
  name: string,
  lines: AddSettlementLinesBody['lines'],
): Promise<{ readonly file_id: string; readonly break_id: string }> {
  const about = { connector_id: 'simulator', name, line_count: lines.length };
  const sha256 = createHash('sha256').update(JSON.stringify(lines)).digest('hex');
  const { file_id } = await client.settlementFiles.create({ ...about, sha256 });
  await client.settlementFiles.addLines(file_id, { first_line: 1, lines });
  const isCompared = async () => (await client.settlementFiles.get(file_id)).status === 'matched';
  await waitFor('the comparison of the file', isCompared);
  const [found] = (await client.breaks.list({ settlement_file_id: file_id })).data;
  return { file_id, break_id: found?.break_id ?? '' };
}

/** Creates a case about a request, with messages from both sides, and an incident of the case's card program. */
async function makeSupport({ cases, incidents }: TransferService, program_id: string, request_id: string) {
  const options = { programId: program_id };
  const text = `Line one\nLine two ${SCRIPT}`;
  const { case_id } = await cases.create({ request_id, text, contact: `Jo ${SCRIPT}`, severity: 'high' }, options);
  await cases.reply(case_id, { text, external_author: `Zoe ${SCRIPT}`, external_id: 'chat-1' }, options);
  await cases.answer(case_id, { text });
  const { incident_id } = await incidents.create({
    title: `Unloads fail ${SCRIPT}`,
    public_text: text,
    internal_text: text,
    scope: 'program',
    program_id,
    codes: ['insufficient_funds'],
  });
  return { case_id, incident_id };
}

/** Returns the id of a request that the service refuses. */
async function refusedRequest(call: () => Promise<unknown>): Promise<string> {
  const error = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof TransferServiceError && error.requestId !== undefined) return error.requestId;
  throw new Error(`the request was not refused: ${String(error)}`);
}
