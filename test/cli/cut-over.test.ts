import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ApprovalRule } from '../../contract/approvals.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { directoryForTest, expectBalancedBooks, useService } from '../harness/service.ts';
import { runHere } from './in-process.ts';
import { startCommand, startProxy } from './killed-command.ts';

const running = useService();

type Line = Readonly<Record<string, unknown>>;

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
const card = (id: string, balance: number, more: Line = {}): Line => ({ kind: 'card', card_id: id, balance, ...more });
const hold = (id: string, amount: number, more: Line = {}): Line => ({
  ...{ kind: 'hold', card_id: id, amount, expires_at: inDays(5) },
  ...more,
});

async function writeLines(name: string, lines: readonly Line[]): Promise<string> {
  const path = join(await directoryForTest(), name);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

/** Runs a command about a file, and returns what it printed. */
function type(command: string, path: string, programId: string, ...more: readonly string[]) {
  return runHere(running().url, ['move-in', command, path, '--program', programId, ...more]);
}

const BEFORE = /^The card program was cut over with sunday\.ndjson at [-0-9: ]+ UTC\.\n$/;

const AS_OF = ['--as-of', '2026-01-31 22:00'] as const;
const CUT_OVER = [...AS_OF, '--note', 'Checked by finance'] as const;

/** Creates a card program, and moves cards in. Returns the id of the program. */
async function moved(lines: readonly Line[]): Promise<string> {
  const { program_id: programId } = await running().client.programs.create({ name: 'Moved', currency: 'USD' });
  const { exitCode, errors } = await type('run', await writeLines('friday.ndjson', lines), programId, ...AS_OF);
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
  return programId;
}

// The ids are not in the order of the file.
const FRIDAY: readonly Line[] = [
  card('Same', 100),
  card('zebra', 10_000),
  hold('zebra', 10, { reference: 'same-hold' }),
  card('spent-there', 2000),
  card('loaded-here', 3000),
  card('released', 4000),
  hold('released', 500, { reference: 'h-released' }),
  card('captured', 5000),
  hold('captured', 600, { reference: 'h-captured' }),
  card('held-there', 6000),
  card('other-hold', 7000),
  hold('other-hold', 800, { reference: 'h-other' }),
  card('suspended', 1000),
  card('other-balance', 1100),
];

const SUNDAY: readonly Line[] = [
  card('zebra', 10_000),
  hold('zebra', 10, { reference: 'same-hold' }),
  card('spent-there', 1900),
  card('loaded-here', 3000),
  card('released', 4000),
  card('captured', 4450),
  card('held-there', 6000),
  hold('held-there', 700),
  card('other-hold', 7000),
  hold('other-hold', 900, { reference: 'h-other' }),
  card('suspended', 1000, { status: 'inactive' }),
  card('other-balance', 1101),
  card('Same', 100),
  card('new-there', 900),
  hold('new-there', 90, { reference: 'h-new' }),
  { kind: 'transfer', card_id: 'new-there', reference: 'old-load', idempotency_key: 'old-key-1' },
];

/** Loads money here onto two cards, which the old ledger does not know. */
async function load(programId: string): Promise<void> {
  const { client } = running();
  await client.deposits.create(programId, { amount: 1000 });
  await client.transfers.create({ card_id: 'loaded-here', amount: 50 }, { programId });
  await client.transfers.create({ card_id: 'other-balance', amount: 70 }, { programId });
}

const DIFFERENCES = {
  'captured hold_captured_there': [600, null, 'h-captured'],
  'held-there hold_only_there': [null, 700, null],
  'loaded-here transfer_only_here': [3050, 3000, null],
  'new-there card_only_there': [null, 900, null],
  'other-balance other_balance': [1170, 1101, null],
  'other-hold other_hold_amount': [800, 900, 'h-other'],
  'released hold_released_there': [500, null, 'h-released'],
  'spent-there transfer_only_there': [2000, 1900, null],
  'suspended other_status': [null, null, null],
};

async function differencesOf(comparisonId: string): Promise<object> {
  const found: [string, readonly unknown[]][] = [];
  for await (const one of running().client.comparisons.differencesAll(comparisonId)) {
    found.push([`${one.card_id} ${one.reason}`, [one.here, one.there, one.reference]]);
  }
  expect(new Set(found.map(([name]) => name)).size).toBe(found.length);
  return Object.fromEntries(found);
}

/** The cards of a program, without their times. */
async function cardsOf(programId: string): Promise<object> {
  const cards: [string, readonly unknown[]][] = [];
  for await (const { card_id, balance, held, status } of running().client.cards.listAll({}, { programId })) {
    cards.push([card_id, [balance, held, status]]);
  }
  return Object.fromEntries(cards);
}

const ON_SUNDAY = {
  Same: [100, 0, 'active'],
  captured: [4450, 0, 'active'],
  'held-there': [6000, 700, 'active'],
  'loaded-here': [3000, 0, 'active'],
  'new-there': [900, 90, 'active'],
  'other-balance': [1101, 0, 'active'],
  'other-hold': [7000, 900, 'active'],
  released: [4000, 0, 'active'],
  'spent-there': [1900, 0, 'active'],
  suspended: [1000, 0, 'inactive'],
  zebra: [10_000, 10, 'active'],
};

const isDisabled = async (programId: string): Promise<boolean> =>
  (await running().client.switch.get()).data.some((setting) => setting.disabled && setting.program_id === programId);

/** Expects the cards of Sunday's file, a signed report and enabled transfers. */
async function expectCutOver(programId: string): Promise<void> {
  expect(await cardsOf(programId)).toEqual(ON_SUNDAY);
  expect(await isDisabled(programId)).toBe(false);
  const [comparison] = (await running().client.comparisons.list({ program_id: programId })).data;
  expect(comparison).toMatchObject({ status: 'cut_over', note: 'Checked by finance' });
  await expectBalancedBooks(running());
}

test('compare finds each planted difference once, with its reason, and nothing else', async () => {
  const programId = await moved([...FRIDAY, card('only-here', 800), card('euro', 300)]);
  await load(programId);
  const path = await writeLines('sunday.ndjson', [...SUNDAY, card('euro', 300, { currency: 'EUR' })]);
  const { exitCode, output, errors } = await type('compare', path, programId);
  expect({ exitCode, errors }).toEqual({ exitCode: 3, errors: '' });
  const id = /cmp_[0-9a-f]{32}/.exec(output)?.[0] ?? '';
  const expected = {
    ...DIFFERENCES,
    'euro other_currency': [300, null, null],
    'only-here card_only_here': [800, null, null],
  };
  expect(await differencesOf(id)).toEqual(expected);
  for (const name of Object.keys(expected)) expect(output).toMatch(new RegExp(`^${name.replace(' ', ' +')}\\b`, 'm'));
  expect(output).toMatch(/^captured +hold_captured_there +6\.00 USD +- +tr_[0-9a-f]{32} h-captured$/m);
  expect(output).toMatch(/^differences\.other_balance: +1$/m);
  expect(output).toMatch(/^USD +here +12 /m);
  expect(output).toMatch(/^EUR +there +1 +3\.00 EUR /m);
  expect(output.trimEnd().split('\n').at(-1)).toBe(
    "Not every card has the balance and the holds that the old ledger has in 'sunday.ndjson': 11 cards differ, and the file has 12 cards.",
  );
  const asJson = await type('compare', path, programId, '--json');
  expect(asJson).toMatchObject({ exitCode: 3, errors: '' });
  const record = JSON.parse(asJson.output);
  expect(record).toMatchObject({ status: 'different', difference_count: 11, card_count: 12 });
  expect(await differencesOf(record.comparison_id)).toEqual(expected);
  const listed = await runHere(running().url, ['move-in', 'differences', id, '--reason', 'other_balance']);
  expect(listed.output).toMatch(/^other-balance +other_balance +11\.70 USD +11\.01 USD +-$/m);
});

test('compare with an earlier time compares the books of that time', async () => {
  const programId = await moved(FRIDAY);
  const path = await writeLines('friday.ndjson', FRIDAY);
  const now = await type('compare', path, programId);
  expect(now).toMatchObject({ exitCode: 0 });
  expect(now.output).toMatch(/\n\nEvery card has the balance and the holds .*: 10 cards with 392\.00 USD/);
  const before = await type('compare', path, programId, '--as-of', '2h');
  expect(before).toMatchObject({ exitCode: 3 });
  expect(before.output).toMatch(/^differences\.card_only_there: 10$/m);
});

test('compare sends nothing of a file with problems', async () => {
  const programId = await moved([card('one', 100)]);
  const path = await writeLines('wrong.ndjson', [card('one', 100), card('one', 100)]);
  const { exitCode, errors } = await type('compare', path, programId);
  expect(exitCode).toBe(2);
  expect(errors).toMatch(/^error: nothing was compared with .*wrong\.ndjson:\nline 2, card_id, duplicate_card: /);
  expect((await running().client.comparisons.list({ program_id: programId })).data).toEqual([]);
});

test('cut-over moves the last delta in, compares again, signs and enables', async () => {
  const programId = await moved(FRIDAY);
  await load(programId);
  const path = await writeLines('sunday.ndjson', SUNDAY);
  const { exitCode, output, errors } = await type('cut-over', path, programId, ...CUT_OVER);
  expect(errors.replaceAll(/mvi_[0-9a-f]{32}/g, 'mvi_1').split('\n')).toEqual([
    'The transfers of the card program were enabled. They are disabled now.',
    'Compared 11 cards of the file with the books: 9 differences.',
    'A delta of 12 lines has moved in: mvi_1',
    'The card suspended is inactive now.',
    'Compared 11 cards of the file with the books: no differences.',
    'The report is signed. The transfers of the card program are enabled.',
    '',
  ]);
  expect(exitCode).toBe(0);
  expect(output).toMatch(/^status: +cut_over$/m);
  expect(output.trimEnd().split('\n').at(-1)).toMatch(/^Every card has the balance and the holds /);
  await expectCutOver(programId);
  const { client } = running();
  const again = client.transfers.create(
    { card_id: 'new-there', amount: 1 },
    { programId, idempotencyKey: 'old-key-1' },
  );
  await expect(again).rejects.toMatchObject({ Code: 'idempotency_key_exists' });
  const settings = await runHere(running().url, ['--json', 'move-in', 'list', '--program', programId]);
  expect(JSON.parse(settings.output).data).toMatchObject([
    { name: 'sunday.ndjson (delta)', status: 'moved', line_count: 12, as_of: '2026-01-31T22:00:00.000Z' },
    { name: 'friday.ndjson' },
  ]);
  // The command changes nothing if it is run again.
  await client.transfers.create({ card_id: 'zebra', amount: 1 }, { programId });
  const second = await type('cut-over', path, programId, ...CUT_OVER);
  expect(second).toMatchObject({ exitCode: 0, output });
  expect(second.errors).toMatch(BEFORE);
  expect(await isDisabled(programId)).toBe(false);
  // It would undo the transfers since.
  await client.switch.disable({ program_id: programId, reason: 'Monday' });
  const third = await type('cut-over', path, programId, ...CUT_OVER);
  expect(third).toMatchObject({ exitCode: 0, output });
  expect(third.errors).toContain(`To enable them: transfer-service switch enable --program ${programId}\n`);
  const other = await writeLines('monday.ndjson', SUNDAY.slice(0, 5));
  const refused = await type('cut-over', other, programId, ...CUT_OVER);
  expect(refused.exitCode).toBe(2);
  expect(refused.errors).toMatch(
    /^error: the card program was cut over with sunday\.ndjson at .* before you cut it over again\n/,
  );
  expect(await cardsOf(programId)).toMatchObject({ zebra: [10_001, 10, 'active'] });
});

test('cut-over of equal books needs no delta, and prints only the record with --json', async () => {
  const programId = await moved(FRIDAY);
  await running().client.switch.disable({ program_id: programId, reason: 'Moving in' });
  const path = await writeLines('friday.ndjson', FRIDAY);
  const { exitCode, output, errors } = await type('cut-over', path, programId, ...CUT_OVER, '--json');
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
  expect(JSON.parse(output)).toMatchObject({ status: 'cut_over', difference_count: 0, note: 'Checked by finance' });
  expect(await isDisabled(programId)).toBe(false);
  expect((await running().client.moveIns.list({ program_id: programId })).data.length).toBe(1);
});

test('cut-over compares again after the cards have moved in again', async () => {
  const programId = await moved([card('one', 100)]);
  const path = await writeLines('sunday.ndjson', [card('one', 100)]);
  expect(await type('cut-over', path, programId, ...CUT_OVER)).toMatchObject({ exitCode: 0 });
  const [{ move_in_id: moveInId } = { move_in_id: '' }] = (
    await running().client.moveIns.list({ program_id: programId })
  ).data;
  await running().client.moveIns.undo(moveInId, { note: 'Rehearsal' });
  const again = await type('cut-over', path, programId, ...CUT_OVER);
  expect(again.errors).toContain('Compared 1 card of the file with the books: 1 difference.');
  expect(again).toMatchObject({ exitCode: 0 });
  expect(await cardsOf(programId)).toEqual({ one: [100, 0, 'active'] });
});

test('cut-over stops at differences that a delta cannot resolve, and moves nothing in', async () => {
  const programId = await moved([...FRIDAY, card('only-here', 800), card('euro', 300)]);
  const path = await writeLines('sunday.ndjson', [...SUNDAY, card('euro', 300, { currency: 'EUR' })]);
  const before = await cardsOf(programId);
  const { exitCode, output } = await type('cut-over', path, programId, ...CUT_OVER);
  expect(exitCode).toBe(3);
  expect(output.split('\n')).toEqual([
    'These differences must be resolved first. Nothing was moved in, and the transfers stay disabled.',
    'euro, other_currency: The card has 3.00 USD here and 3.00 EUR in the file. A card cannot change its currency. Correct the export.',
    'only-here, card_only_here: The card has 8.00 USD here. The file does not have it. If the card has no money, close it here. Otherwise correct the export.',
    '',
  ]);
  expect(await cardsOf(programId)).toEqual(before);
  expect(await isDisabled(programId)).toBe(true);
});

/** Sets the approval rules until the end of the test. Callers without a key need no approval. */
async function withRules(...rules: readonly ApprovalRule[]): Promise<void> {
  const { approvals } = running().client;
  await approvals.changePolicy({ rules: [...rules] });
  onTestFinished(async () => {
    await approvals.changePolicy({ rules: [] });
  });
}

/** Approves a request as a person. */
async function approve(approvalId: string): Promise<void> {
  const page = { 'Sec-Fetch-Site': 'same-origin', Console: '1', 'Content-Type': 'application/json' };
  const send = (path: string, body: object, headers: object = {}) =>
    sendRaw(running().url, { method: 'POST', path, headers: { ...page, ...headers }, body });
  const session = await send('/api/v0.1/sandbox/sign-in', { person: 'approver' });
  const [cookie = ''] = (session.headers['set-cookie']?.[0] ?? '').split(';');
  const approved = await send(
    `/api/v0.1/operator/approval/${approvalId}/approve`,
    { reason: 'agreed' },
    { Cookie: cookie },
  );
  expect(JSON.parse(approved.text)).toMatchObject({ status: 'carried_out' });
}

test('cut-over waits for approvals of the delta and of the report, and continues after them', async () => {
  const programId = await moved(FRIDAY);
  await load(programId);
  const path = await writeLines('sunday.ndjson', SUNDAY);
  const { key } = await withSecret(running().client.keys.create(operatorKey('Ada')));
  await withRules({ operation: 'create_move_in' }, { operation: 'cut_over' });
  const run = () => runHere(running().url, ['move-in', 'cut-over', path, '--program', programId, ...CUT_OVER], { key });
  const idIn = (text: string): string => /apr_[0-9a-f]{32}/.exec(text)?.[0] ?? '';
  const first = await run();
  expect(first.exitCode).toBe(6);
  expect(first.errors).toContain('A second person must approve this request to move cards');
  await approve(idIn(first.errors));
  const second = await run();
  expect(second.exitCode).toBe(6);
  expect(second.errors).toContain('Compared 11 cards of the file with the books: no differences.');
  expect(second.errors).toContain('The transfers of the card program stay disabled until it is approved.\n');
  expect(await isDisabled(programId)).toBe(true);
  const waiting = await run();
  expect(waiting).toMatchObject({ exitCode: 6 });
  expect(idIn(waiting.errors)).toBe(idIn(second.errors));
  await approve(idIn(second.errors));
  await expectCutOver(programId);
  const after = await run();
  expect(after.exitCode).toBe(0);
  expect(after.errors).toMatch(BEFORE);
  await expectCutOver(programId);
});

/** A cut-over with these differences sends this number of requests that change something. */
const CHANGES = 9;

const changes = ({ method }: IncomingMessage): boolean => method !== 'GET';

test('a cut-over that is killed at any request ends in the same books when it is run again', async () => {
  const path = await writeLines('sunday.ndjson', SUNDAY);
  const whole = await moved(FRIDAY);
  await load(whole);
  let sent = 0;
  const counting = await startProxy(running().url, {
    counts: changes,
    on: (_, count) => {
      sent = count;
      return false;
    },
  });
  expect(
    await startCommand(counting, ['move-in', 'cut-over', path, '--program', whole, ...CUT_OVER]).ended,
  ).toMatchObject({
    exitCode: 0,
  });
  expect(sent).toBe(CHANGES);
  for (const when of ['before', 'after'] as const) {
    for (let last = 1; last <= CHANGES; last += 1) {
      const programId = await moved(FRIDAY);
      await load(programId);
      let child: ChildProcess | undefined;
      const url = await startProxy(running().url, {
        counts: changes,
        on: (at, count) => at === when && count === last && child?.kill('SIGKILL') === true,
      });
      const started = startCommand(url, ['move-in', 'cut-over', path, '--program', programId, ...CUT_OVER]);
      child = started.child;
      expect(await started.ended, `${when} request ${last}`).toMatchObject({ signal: 'SIGKILL' });
      const again = await type('cut-over', path, programId, ...CUT_OVER);
      expect(again, `${when} request ${last}`).toMatchObject({ exitCode: 0 });
      await expectCutOver(programId);
    }
  }
}, 240_000);

const isLines = ({ method, url }: IncomingMessage): boolean => method === 'POST' && url?.endsWith('/line') === true;

/** Runs a cut-over whose process is killed after the first request of a kind. */
async function killAfter(counts: (request: IncomingMessage) => boolean, path: string, programId: string) {
  let child: ChildProcess | undefined;
  const on = (when: 'before' | 'after') => when === 'after' && child?.kill('SIGKILL') === true;
  const url = await startProxy(running().url, { counts, on });
  const started = startCommand(url, ['move-in', 'cut-over', path, '--program', programId, ...CUT_OVER]);
  child = started.child;
  expect(await started.ended).toMatchObject({ signal: 'SIGKILL' });
}

test('a delta of several requests that is killed after the first one ends with another delta', async () => {
  const cards = (more: number): Line[] => Array.from({ length: 1200 }, (_, at) => card(`card-${at}`, 100 + more));
  const programId = await moved(cards(0));
  const path = await writeLines('sunday.ndjson', cards(1));
  await killAfter(isLines, path, programId);
  const again = await type('cut-over', path, programId, ...CUT_OVER);
  expect(again.errors).toContain('Compared 1,200 cards of the file with the books: 200 differences.\n');
  expect(again).toMatchObject({ exitCode: 0 });
  expect(again.output).toContain('1,200 cards with 1,212.00 USD and no holds.\n');
  await expectBalancedBooks(running());
});

test('a delta moves in again if its differences are back', async () => {
  const programId = await moved([card('one', 100)]);
  const { client } = running();
  await client.deposits.create(programId, { amount: 1000 });
  const path = await writeLines('sunday.ndjson', [card('one', 90)]);
  const { key } = await withSecret(client.keys.create(operatorKey('Ada')));
  await withRules({ operation: 'cut_over' });
  const run = () => runHere(running().url, ['move-in', 'cut-over', path, '--program', programId, ...CUT_OVER], { key });
  expect(await run()).toMatchObject({ exitCode: 6 });
  const [waiting] = (await client.approvals.list({ status: 'pending' })).data;
  await client.approvals.reject(waiting?.approval_id ?? '', { reason: 'a transfer is missing' });
  await client.switch.enable({ program_id: programId });
  await client.transfers.create({ card_id: 'one', amount: 10 }, { programId });
  const again = await run();
  expect(again.errors).toContain('A delta of 1 line has moved in: mvi_');
  expect(again.exitCode).toBe(6);
  expect(await cardsOf(programId)).toEqual({ one: [90, 0, 'active'] });
});
