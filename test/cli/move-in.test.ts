import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { directoryForTest, expectBalancedBooks, refusalOf, useService } from '../harness/service.ts';
import { runHere } from './in-process.ts';
import { startCommand, startProxy } from './killed-command.ts';

const running = useService();

const CARDS = 2400;
const HOLDS = 300;
const CARD = 'card-2399';

/** Writes a file of cards, with a hold on every eighth. */
async function writeFile(change: (text: string) => string = (text) => text): Promise<string> {
  const expiresAt = new Date(Date.now() + 5 * 86_400_000).toISOString();
  const lines = Array.from({ length: CARDS }, (_, at) => {
    const card = `card,card-${at},${100 + at},,,,,,`;
    return at % 8 === 0 ? `${card}\nhold,card-${at},,,${1 + at / 8},${expiresAt},,,` : card;
  });
  const balance = (CARDS * (CARDS - 1)) / 2 + CARDS * 100;
  const held = (HOLDS * (HOLDS + 1)) / 2;
  const head = 'kind,card_id,balance,currency,amount,expires_at,cards,holds,held';
  const total = `total,,${balance},USD,,,${CARDS},${HOLDS},${held}`;
  const path = join(await directoryForTest(), 'cards.csv');
  writeFileSync(path, change([head, ...lines, total, ''].join('\n')));
  return path;
}

const newProgram = async (): Promise<string> =>
  (await running().client.programs.create({ name: 'Moved', currency: 'USD' })).program_id;

const commandOf = (path: string, programId: string) => [
  'move-in',
  'run',
  path,
  '--program',
  programId,
  '--as-of',
  '2026-01-31 22:00',
];

/** The state of a program after a move-in, without its ids and times. */
async function stateOf(programId: string) {
  const { client } = running();
  const moveIns = [];
  for await (const { move_in_id: _, program_id: __, created_at: ___, moved_at, ...rest } of client.moveIns.listAll({
    program_id: programId,
  })) {
    moveIns.push({ ...rest, hasMoved: moved_at !== null });
  }
  const cards = [];
  for await (const { card_id, balance, held, available, status } of client.cards.listAll(
    { limit: 100 },
    { programId },
  )) {
    cards.push({ card_id, balance, held, available, status });
  }
  cards.sort((one, other) => (one.card_id < other.card_id ? -1 : 1));
  return { moveIns, cards };
}

const isLines = ({ method, url }: IncomingMessage): boolean => method === 'POST' && url?.endsWith('/line') === true;

test('a run that is killed between portions continues where it stopped, with the books of a run without a kill', async () => {
  const path = await writeFile();
  const whole = await newProgram();
  const { exitCode, output } = await runHere(running().url, commandOf(path, whole));
  expect(exitCode).toBe(0);
  expect(output).toContain('The books equal the totals that the file states.\n');
  const expected = await stateOf(whole);
  expect(expected.moveIns).toMatchObject([{ status: 'moved', line_count: CARDS + HOLDS, adds_up: true }]);
  expect(expected.cards.length).toBe(CARDS);
  expect(expected.cards).toContainEqual({ card_id: CARD, balance: 2499, held: 0, available: 2499, status: 'active' });

  const killed = await newProgram();
  let child: ChildProcess | undefined;
  // Kills the first run before its second portion is passed on, and the second run after the service has its third.
  const url = await startProxy(running().url, {
    counts: isLines,
    on: (when, count) =>
      ((when === 'before' && count === 2) || (when === 'after' && count === 3)) && child?.kill('SIGKILL') === true,
  });
  const run = () => {
    const started = startCommand(url, commandOf(path, killed));
    child = started.child;
    return started.ended;
  };
  expect(await run()).toMatchObject({ signal: 'SIGKILL' });
  const [{ lines_received: received } = { lines_received: 0 }] = (
    await running().client.moveIns.list({ program_id: killed })
  ).data;
  expect(received % 1000).toBe(0);
  expect(received).toBeLessThan(CARDS + HOLDS);
  expect(await run()).toMatchObject({ signal: 'SIGKILL' });
  const last = await run();
  expect(last).toMatchObject({ exitCode: 0 });
  expect(last.errors).toMatch(/^(\d,\d00|2,700) of 2,700 lines have already moved in\.\n/);
  expect(await stateOf(killed)).toEqual(expected);
  await expectBalancedBooks(running());
});

test('a run again after the last line shows the books, and moves nothing', async () => {
  const path = await writeFile();
  const programId = await newProgram();
  const first = await runHere(running().url, commandOf(path, programId));
  const again = await runHere(running().url, commandOf(path, programId));
  expect(again).toEqual({ ...first, errors: '2,700 of 2,700 lines have already moved in.\n' });
});

test('two runs of a file at the same time move each line once', async () => {
  const path = await writeFile();
  const programId = await newProgram();
  const run = () => runHere(running().url, commandOf(path, programId));
  const outcomes = await Promise.all([run(), run()]);
  expect(outcomes).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }]);
  const { moveIns, cards } = await stateOf(programId);
  expect(moveIns).toMatchObject([{ status: 'moved', lines_received: CARDS + HOLDS, adds_up: true }]);
  expect(cards.length).toBe(CARDS);
  await expectBalancedBooks(running());
});

test('undo repeats its request until nothing is left', async () => {
  const path = await writeFile();
  const programId = await newProgram();
  const { output } = await runHere(running().url, commandOf(path, programId));
  const moveInId = /mvi_[0-9a-f]{32}/.exec(output)?.[0] ?? '';
  const undone = await runHere(running().url, ['move-in', 'undo', moveInId, '--note', 'Rehearsal']);
  expect(undone).toMatchObject({ exitCode: 0 });
  expect(undone.output).toContain('status:         undone\n');
  expect(undone.output).toContain('lines_undone:   2700\n');
  await expectBalancedBooks(running());
});

test('a file with problems, or with other totals than it states, moves nothing', async () => {
  const programId = await newProgram();
  const wrong = await writeFile((text) =>
    text.replace('card,card-7,107', 'card,card-6,107').replace('2400,300', '2401,300'),
  );
  const { exitCode, errors } = await runHere(running().url, commandOf(wrong, programId));
  expect(exitCode).toBe(2);
  expect(errors).toMatch(
    /^error: nothing was moved in from .*cards\.csv:\nline 10, card_id, duplicate_card: the card program already has a card 'card-6'\. Line 9 has it too\.\n/,
  );
  const totals = await writeFile((text) => text.replace('2400,300', '2401,300'));
  const differing = await runHere(running().url, commandOf(totals, programId));
  expect(differing.exitCode).toBe(2);
  expect(differing.errors).toContain('The lines do not add up to the totals that the file states in USD.\n');
  expect((await running().client.moveIns.list({ program_id: programId })).data).toEqual([]);
});

test('a line that only the service can refuse is named by its line in the file', async () => {
  const programId = await newProgram();
  await running().client.cards.create({ card_id: 'card-1500' }, { programId });
  const { exitCode, errors } = await runHere(running().url, commandOf(await writeFile(), programId));
  expect(exitCode).toBe(1);
  // The names of the columns, 1,500 cards before it, and the holds of every eighth of them.
  expect(errors).toContain(
    `The service refused line ${1 + 1500 + 188 + 1} of the file, and so its request of 1000 lines.\n`,
  );
  expect(errors).toContain('duplicate_card');
  expect((await running().client.moveIns.list({ program_id: programId })).data).toMatchObject([
    { lines_received: 1000 },
  ]);
});

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

test.each<[string, Readonly<Record<string, unknown>>]>([
  ['a duplicate card', { kind: 'card', card_id: 'one', balance: 1 }],
  ['a card number', { kind: 'card', card_id: 'two', balance: 1, holder_reference: '4111 1111 1111 1111' }],
  ['a card number in metadata', { kind: 'card', card_id: 'two', balance: 1, metadata: { pan: '4111111111111111' } }],
  ['a card number as a name', { kind: 'card', card_id: 'two', balance: 1, 4111111111111111: 'x' }],
  ['a negative balance', { kind: 'card', card_id: 'two', balance: -1 }],
  ['an unknown currency', { kind: 'card', card_id: 'two', balance: 1, currency: 'ZZZ' }],
  ['an unknown field', { kind: 'card', card_id: 'two', balance: 1, color: 'red' }],
  ['a card without a balance', { kind: 'card', card_id: 'two' }],
  ['a hold without a card', { kind: 'hold', card_id: 'two', amount: 1, expires_at: inDays(5) }],
  ['a hold above the balance', { kind: 'hold', card_id: 'one', amount: 101, expires_at: inDays(5) }],
  ['a hold that is too long', { kind: 'hold', card_id: 'one', amount: 1, expires_at: inDays(100) }],
])('check reports %s with the code, the field and the message of the service', async (_, line) => {
  const lines = [{ kind: 'card', card_id: 'one', balance: 100 }, line];
  const path = join(await directoryForTest(), 'cards.ndjson');
  writeFileSync(path, lines.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const { exitCode, output } = await runHere(running().url, ['--json', 'move-in', 'check', path, '--currency', 'USD']);
  expect(exitCode).toBe(1);
  const { problems } = JSON.parse(output);
  const { moveIns } = running().client;
  const sha256 = randomBytes(32).toString('hex');
  const about = { name: 'cards.ndjson', sha256, as_of: '2026-01-31T22:00:00Z', line_count: 2 };
  const { move_in_id: id } = await moveIns.create({ program_id: await newProgram(), ...about });
  const { Code, Message, field = '' } = await refusalOf(moveIns.addLines(id, { first_line: 1, lines: lines as never }));
  expect(problems).toMatchObject([
    { line: 2, code: Code, field: field.replace(/^\/lines\/1\/?/, '').replaceAll('/', '.') },
  ]);
  expect(`Line 2: ${problems[0].message}`).toContain(Message);
});

test('sandbox move-in-files writes files that have no problems, and replaces none', async () => {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(await directoryForTest());
  const type = (line: string) => runHere(running().url, line.split(' '));
  const refused = await type('sandbox move-in-files --cards 2');
  expect([refused.exitCode, refused.errors]).toEqual([2, expect.stringContaining('must be 3 to 1,000,000')]);
  expect((await type('sandbox move-in-files --cards 250')).output).toBe('friday.csv\nsunday.csv\n');
  for (const [file, counts] of [
    ['friday.csv', '277 lines, no problems'],
    ['sunday.csv', '276 lines, no problems'],
  ]) {
    const { exitCode, output } = await type(`move-in check ${file}`);
    expect([exitCode, output]).toEqual([0, expect.stringContaining(String(counts))]);
  }
  const again = await type('sandbox move-in-files');
  expect([again.exitCode, again.errors]).toEqual([2, expect.stringContaining('friday.csv cannot be written')]);
});
