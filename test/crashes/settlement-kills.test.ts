import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { waitFor } from '../harness/process.ts';
import { Stage } from '../processors/stage.ts';
import { killUntil, MAX_MILLISECONDS, type Query, type Step, type Victim, WriteGates } from './write-gates.ts';

// Kills the service or PostgreSQL before every write of the import, the comparison and the withdrawal of settlement files, and
// compares the books with those of a run without kills.

let stage: Stage;
let gates: WriteGates;
beforeAll(async () => {
  stage = await Stage.open();
  gates = await WriteGates.create(query, STEPS);
});
afterAll(() => stage?.end());

const query: Query = (text, values) => stage.query(text, values);

const file = (when: string, more: object = {}): Step => ({ table: 'settlement_file', on: 'update', when, ...more });
const line = (when: string): Step => ({ table: 'settlement_line', on: 'update', when });
const order = (when: string): Step => ({ table: 'processor_attempt', on: 'update', when });
const opened = (kind: string): Step => ({ table: 'processor_break', on: 'insert', when: `new.kind = '${kind}'` });

const BEGUN = `old.outcome is null and new.outcome in ('reported', 'differs')`;

/** Every write of the import, the comparison and the withdrawal of a settlement file. */
const STEPS: Readonly<Record<string, Step>> = {
  'add later lines': { table: 'settlement_line', on: 'insert', when: 'new.line_number > 4' },
  'receive the last line': file("old.status = 'receiving' and new.status = 'matching'"),
  'claim a file': file('new.claimed_until > clock_timestamp() and new.lines_examined = old.lines_examined'),
  'begin a line': line(`${BEGUN} and new.attempt_ids is null`),
  'begin a batch': line(`${BEGUN} and new.attempt_ids is not null`),
  'approve an unknown order': order("old.status = 'unknown' and new.status = 'approved'"),
  'post a late approval': order('old.late_approval_at is null and new.late_approval_at is not null'),
  'open a contradiction': opened('contradiction'),
  'open a break of a line': opened('missing_in_ledger'),
  'open a break of a duplicate': opened('duplicate'),
  'settle an order': order('old.settlement_file_id is null and new.settlement_file_id is not null'),
  'store the outcome of a line': line("old.outcome is null and new.outcome in ('matched', 'missing_in_ledger')"),
  'count lines': file('new.lines_examined > old.lines_examined'),
  'commit the last count': file("old.status = 'matching' and new.status = 'matched'", { atCommit: true }),
  'announce a break': {
    table: 'processor_break',
    on: 'update',
    when: 'old.announced_at is null and new.announced_at is not null',
  },
  'accept the orders of a line': order('old.accepted_at is null and new.accepted_at is not null'),
  'withdraw a file': file("new.status = 'withdrawing' and old.status = 'matched'"),
  'take back an order': order('old.settlement_file_id is not null and new.settlement_file_id is null'),
  'close a break of a withdrawn file': {
    table: 'processor_break',
    on: 'update',
    when: `old.closed_at is null and new.resolution like '%was withdrawn.'`,
  },
  'commit the withdrawal': file("old.status = 'withdrawing' and new.status = 'withdrawn'", { atCommit: true }),
};

/** How the processor answers the orders, each of 10.00 USD. */
const ORDERS = {
  ...{ sum1: 'approved', sum2: 'approved', sum3: 'approved' },
  ...{ unclear1: 'approved', unclear2: 'unknown', unclear3: 'unknown' },
  ...{ refused1: 'approved', refused2: 'unknown', refused3: 'declined' },
  ...{ wrong1: 'approved', wrong2: 'approved' },
  ...{ single: 'unknown', late: 'declined', differing: 'approved', twice: 'approved', undone: 'approved' },
  ...{ named1: 'approved', named2: 'approved' },
} as const;

type Name = keyof typeof ORDERS;

/** The processor's reference: orders of a batch share it. */
const referenceOf = (name: string): string => `ref-${name.replace(/\d$/, '')}`;

type Line = { readonly about: string; readonly amount?: number; readonly fee?: number; readonly status?: string };

const FIRST: readonly Line[] = [
  { about: 'sum', amount: 3000, fee: 99 },
  { about: 'late' },
  { about: 'unclear', amount: 3000, fee: 6 },
  { about: 'twice' },
  { about: 'refused', amount: 2000 },
  { about: 'wrong', amount: 2001 },
  { about: 'single', fee: 3 },
  { about: 'twice' },
  { about: 'differing', amount: 900 },
  { about: 'undone' },
  { about: 'unheard', amount: 2000, fee: 8 },
];

const SECOND: readonly Line[] = [
  { about: 'sum', amount: 3000, fee: 99 },
  { about: 'undone', status: 'reversed' },
  { about: 'differing' },
  { about: 'single' },
  { about: 'unheard-either', amount: 500 },
];

/** The inner ids of one run's records. */
type Run = {
  readonly connectorId: string;
  readonly programId: string;
  readonly attempts: ReadonlyMap<string, string>;
  readonly files: string[];
};

/** Creates the orders on new cards of a new program and connector. */
async function createOrders(): Promise<Run> {
  const { client } = stage.service;
  const { program_id: programId } = await client.programs.create({ name: 'Killed', currency: 'USD' });
  await client.deposits.create(programId, { amount: 100_000 });
  const connectorId = stage.nextConnector('inquired');
  const attempts = new Map<string, string>();
  const names = Object.keys(ORDERS) as Name[];
  const isUnknown = (name: Name): boolean => ORDERS[name] === 'unknown';
  // Orders without an answer come last, because they can open the breaker.
  for (const some of [names.filter((name) => !isUnknown(name)), names.filter(isUnknown)]) {
    const created = some.map(async (name) => attempts.set(name, await createOrder(name, connectorId, programId)));
    await Promise.all(created);
  }
  return { connectorId, programId, attempts, files: [] };
}

/** Creates a load, and waits until its order has the status. Returns the inner id of the order. */
async function createOrder(name: Name, connectorId: string, programId: string): Promise<string> {
  const { client } = stage.service;
  const processorToken = `${name}-${connectorId}`;
  stage.processor.on(processorToken, () => {
    if (ORDERS[name] === 'unknown') return { executes: true, reply: 'cut' };
    return { executes: true, reply: ORDERS[name] === 'declined' ? 'decline' : 'answer' };
  });
  const card = { card_id: name, connector_id: connectorId, processor_token: processorToken };
  await client.cards.create(card, { programId });
  const load = { type: 'load', card_id: name, amount: 1000 } as const;
  const { transfer_id: transferId } = await client.transfers.create(load, { programId });
  // The service does not ask about the order while the test runs, and ignores the answer to a question that is open now.
  const quiet = `update processor_attempt set processor_reference = $2, next_at = next_at + interval '10 hours', looks = looks + 1
    where transfer_id = $1 and status = $3 returning attempt_id`;
  const values = [fromWireId('tr', transferId), referenceOf(name), ORDERS[name]];
  let attemptId = '';
  await waitFor(`the order '${name}' to be ${ORDERS[name]}`, async () => {
    const [row] = await query(quiet, values);
    attemptId = String(row?.attempt_id ?? '');
    return attemptId !== '';
  });
  return attemptId;
}

const FILE_PATH = '/api/v0.1/operator/settlement-file';

/** Imports a file as the command line does, in portions, and repeats what a kill has interrupted. */
async function importFile(run: Run, lines: readonly Line[]): Promise<void> {
  const sent = lines.map(({ about, ...more }) => {
    const attemptId = run.attempts.get(about);
    const named = attemptId === undefined ? {} : { attempt_id: toWireId('pat', attemptId) };
    const usual = { kind: 'push', amount: 1000, currency: 'USD', settled_on: '2026-11-30' };
    return { ...named, processor_reference: referenceOf(about), ...usual, ...more };
  });
  const sha256 = createHash('sha256').update(JSON.stringify(sent)).digest('hex');
  const name = `settlement-${run.files.length + 1}.csv`;
  const body = { connector_id: run.connectorId, name, sha256, line_count: sent.length };
  const { file_id: fileId } = await stage.post(FILE_PATH, body);
  run.files.push(fromWireId('stl', String(fileId)) ?? '');
  for (let first = 1; first <= sent.length; first += 4) {
    const lines = sent.slice(first - 1, first + 3);
    await stage.post(`${FILE_PATH}/${fileId}/line`, { first_line: first, lines });
  }
}

const untilFileIs = (run: Run, status: string): Promise<void> =>
  untilNone(
    `the file to be ${status}`,
    `select from settlement_file where file_id = '${run.files.at(-1)}' and status <> '${status}'`,
  );

/** Waits until a query finds nothing. PostgreSQL may be down in the meantime. */
const untilNone = (what: string, text: string): Promise<void> =>
  waitFor(
    what,
    () =>
      query(text).then(
        (rows) => rows.length === 0,
        () => false,
      ),
    MAX_MILLISECONDS,
  );

/** Imports both files, names the orders of a line, and withdraws the second file. */
async function reconcile(run: Run): Promise<void> {
  await importFile(run, FIRST);
  await untilFileIs(run, 'matched');
  await importFile(run, SECOND);
  await untilFileIs(run, 'matched');
  const ofRun = `connector_id = '${run.connectorId}'`;
  await untilNone('the breaks to be announced', `select from processor_break where ${ofRun} and announced_at is null`);
  const [found] = await query(
    `select break_id from processor_break where ${ofRun} and sent_attempt_id = 'ref-unheard'`,
  );
  const orders = ['named1', 'named2'].map((name) => toWireId('pat', run.attempts.get(name) ?? ''));
  const path = `/api/v0.1/operator/break/${toWireId('brk', String(found?.break_id))}/close`;
  await stage.post(path, { note: 'Their advice.', attempt_ids: orders });
  const fileId = toWireId('stl', run.files.at(-1) ?? '');
  await stage.post(`${FILE_PATH}/${fileId}/withdraw`, { note: 'The wrong file.' });
  await untilFileIs(run, 'withdrawn');
}

/** The claim of a killed process would end after 30 seconds. */
const endClaims = () =>
  query('update settlement_file set claimed_until = clock_timestamp() where claimed_until > clock_timestamp()');

/** Everything that the files have changed, with names instead of ids and without times. */
async function outcome(run: Run): Promise<unknown> {
  const { attempts, files, connectorId, programId } = run;
  const names = new Map<string, string>(files.map((fileId, index) => [fileId, `file ${index + 1}`]));
  // A text can name any order of a batch, because the ids of the orders decide which one is first.
  for (const [name, attemptId] of attempts) names.set(attemptId, name.replace(/\d$/, ''));
  const named = (value: unknown): unknown => {
    let text = JSON.stringify(value);
    for (const [id, name] of names) text = text.replaceAll(id, name).replaceAll(id.replaceAll('-', ''), name);
    return JSON.parse(text);
  };
  const ask = async (text: string, ...values: readonly unknown[]) => named(await query(text, values));
  const inner = fromWireId('prog', programId);
  return {
    files: await ask(
      `select file_id, status, line_count, lines_received, lines_examined, matched, reported, differs, duplicate,
        missing_in_ledger, totals from settlement_file where connector_id = $1 order by file_id`,
      connectorId,
    ),
    lines: await ask(
      `select file_id, line_number, outcome, attempt_id, (
          select array_agg(name order by name) from processor_attempt join card using (program_id, card_id)
          where processor_attempt.attempt_id = any (attempt_ids)
        ) as orders from settlement_line where file_id = any ($1) order by file_id, line_number`,
      files,
    ),
    orders: await ask(
      `select card.name, transfer.status as transfer, attempt.status, settlement_file_id, settlement_fee, corrected_amount,
          accepted_at is not null as is_accepted, late_approval_at is not null as is_late,
          contradicted_at is not null as is_contradicted
        from processor_attempt as attempt join transfer using (program_id, transfer_id) join card on card.card_id = attempt.card_id
        where attempt.connector_id = $1 order by card.name`,
      connectorId,
    ),
    breaks: await ask(
      `select kind, attempt_id, sent_attempt_id, amount, currency, stated_amount, expected, found, settlement_file_id, closed_by,
          resolution from processor_break where connector_id = $1 order by kind, found`,
      connectorId,
    ),
    balances: await ask(
      `select kind, name, balance, held, incoming, sequence from account left join card using (program_id, account_id)
        where account.program_id = $1 order by kind, name`,
      inner,
    ),
    postings: await ask(
      'select purpose, amount, count(*) from posting where program_id = $1 group by 1, 2 order by 1, 2',
      inner,
    ),
    events: await ask('select type, count(*) from event where program_id = $1 group by 1 order by 1', inner),
    operatorEvents: await ask(
      `select type, count(*) from event where program_id is null and (subject_id = any ($1) or subject_id in (
          select 'brk_' || replace(break_id::text, '-', '') from processor_break where connector_id = $2
        )) group by 1 order by 1`,
      files.map((fileId) => toWireId('stl', fileId)),
      connectorId,
    ),
  };
}

let expected: unknown;

test('compares two files with lines about several orders, and withdraws one', async () => {
  const run = await createOrders();
  await reconcile(run);
  expected = await outcome(run);
  expect(expected).toMatchObject({
    files: [
      { status: 'matched', matched: 3, reported: 4, differs: 1, duplicate: 1, missing_in_ledger: 2 },
      { status: 'withdrawn', lines_examined: SECOND.length },
    ],
  });
});

test.each<Victim>(['service', 'PostgreSQL'])(
  'has the same books, breaks and outcomes if %s is killed before every write',
  { timeout: 900_000 },
  async (victim) => {
    const run = await createOrders();
    await gates.closeAll();
    await killUntil(reconcile(run), victim, { stage, gates, beforeStart: endClaims });
    expect(await gates.closed()).toEqual([]);
    expect(await outcome(run)).toEqual(expected);
    const { balanced, differing_holds, differing_accounts } = await stage.read((client) => client.trialBalance.get());
    expect({ balanced, differing_holds, differing_accounts }).toEqual({
      balanced: true,
      differing_holds: 0,
      differing_accounts: [],
    });
  },
);
