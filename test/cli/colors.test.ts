import { resolve } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { unpainted, wantsColor } from '../../cli/paint.ts';
import { errorResponse, startCannedService, TRANSFER } from '../sdk/canned-service.ts';
import { runHere } from './in-process.ts';
import { isInstalled, openTerminal } from './terminal.ts';

const MAIN = resolve(import.meta.dirname, '../../cli/main.ts');
const ESCAPE = '\u001b';

const service = await startCannedService();
afterAll(() => service.close());

const LIST = { status: 200, body: { data: [TRANSFER, { ...TRANSFER, status: 'failed' }], next_cursor: null } };

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
  [false, { FORCE_COLOR: '1' }, true],
  [false, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
])('with a terminal (%s) and the environment %j, uses colors: %s', (isTerminal, variables, expected) => {
  expect(wantsColor(isTerminal, variables)).toBe(expected);
});

/** Returns the output of a command in a terminal of 80 columns. */
async function show(commandLine: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
  // `script` is part of util-linux, which is always installed on Debian.
  expect(isInstalled('script')).toBe(true);
  const node = `'${process.execPath}' '${MAIN}' --url ${service.url}`;
  const terminal = openTerminal(`${node} ${commandLine}`, environment);
  try {
    await terminal.ended;
    return terminal.shown().replaceAll('\r\n', '\n');
  } finally {
    terminal.close();
  }
}

test('colors headings and statuses on a terminal, and prints no line wider than the terminal', async () => {
  service.play(LIST);
  const shown = await show('transfers list');
  expect(shown).toContain(`${ESCAPE}[1mtransfer_id`);
  expect(shown).toContain(`${ESCAPE}[32mcompleted${ESCAPE}[39m`);
  expect(shown).toContain(`${ESCAPE}[31mfailed${ESCAPE}[39m`);
  const lines = unpainted(shown).split('\n');
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
  // No transfer has a receiving card, so the column is left out.
  expect(unpainted(shown)).not.toContain('destination_card_id');
});

test("prints an error's message first, and its code in the color of its type", async () => {
  service.play(errorResponse({ Status: 500, Code: 'unknown_get_card', Type: 'Server Error' }, { 'money-moved': 'no' }));
  const shown = await show('cards get card_active');
  expect(shown).toContain(`${ESCAPE}[31merror:${ESCAPE}[39m ${ESCAPE}[1mSomething specific.`);
  expect(shown).toContain(`${ESCAPE}[31munknown_get_card (Server Error, 500)${ESCAPE}[39m`);
});

test('colors the headings of the help', async () => {
  expect(await show('--help')).toContain(`${ESCAPE}[1mOptions:`);
});

test('prints no colors with NO_COLOR', async () => {
  service.play(LIST);
  expect(await show('transfers list', { NO_COLOR: '1' })).not.toContain(ESCAPE);
});

test('prints no colors in JSON or to a pipe, except with FORCE_COLOR', async () => {
  service.play(LIST);
  expect(await show('transfers list --json')).not.toContain(ESCAPE);
  expect(await show('transfers list | cat')).not.toContain(ESCAPE);
  expect(await show('transfers list | cat', { FORCE_COLOR: '1' })).toContain(`${ESCAPE}[32mcompleted`);
});

test("escapes terminal escape codes in a caller's text", async () => {
  service.play({ status: 200, body: { ...TRANSFER, description: `${ESCAPE}[31mred` } });
  expect((await runHere(service.url, ['transfers', 'get', 'tr_1'])).output).toContain('\\u001b[31mred');
});

test.each([
  ['Ctrl-C', '\u0003', ''],
  ['Ctrl-D', '\u0004', ''],
  ['Ctrl-D, while the question is not shown,', '\u0004', ' 2>/dev/null'],
])('treats %s as the answer no to a question', async (_name, key, redirection) => {
  const node = `'${process.execPath}' '${MAIN}' --url ${service.url}`;
  const requests = service.received.length;
  const terminal = openTerminal(`echo READY$((1+1)); ${node} cards erase card_1${redirection}`);
  try {
    await vi.waitFor(() => expect(terminal.shown()).toContain(redirection === '' ? '[y/N]' : 'READY2'), 120_000);
    terminal.type(key);
    expect(await terminal.ended).toBe(2);
    if (redirection === '') expect(terminal.shown()).toContain('Nothing was erased.');
    expect(service.received).toHaveLength(requests);
  } finally {
    terminal.close();
  }
});
