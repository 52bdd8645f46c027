import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LOG_EVENTS } from '../../server/observe/log/log-events.ts';

const root = join(import.meta.dirname, '..', '..');

/** The table of events itself, and a table of columns, which has those of the table `event`. */
const TABLES = ['server/observe/log/log-events.ts', 'server/store/text-columns.ts'];

const sources = globSync('server/**/*.ts', { cwd: root })
  .filter((file) => !file.endsWith('.test.ts') && !TABLES.includes(file))
  .map((file) => readFileSync(join(root, file), 'utf8'));

/** The names that the source writes as the event of a line, or hands to what writes it. */
const written = new Set(
  sources.flatMap((text) => [
    ...[...text.matchAll(/\bevent: '([a-z_]+)'/g)].map(([, name]) => name),
    ...[...text.matchAll(/\bfailureOf\(log, '([a-z_]+)'/g)].map(([, name]) => name),
    ...[...text.matchAll(/: LogEvent = '([a-z_]+)'/g)].map(([, name]) => name),
  ]),
);

test('the table of docs/logs.md has every event that the source logs, and no other', () => {
  expect([...written].sort()).toEqual(Object.keys(LOG_EVENTS).sort());
});

test('nothing is logged past the log: no console, no other pino, no other writer to standard error', () => {
  const others = globSync('server/**/*.ts', { cwd: root }).filter((file) => {
    // Commands speak to people.
    if (/^server.host.(?:commands.|administration\.ts$)/.test(file)) return false;
    const text = readFileSync(join(root, file), 'utf8');
    return /\bconsole\.\w+\(|from 'pino'|process\.stderr\.write\(/.test(text);
  });
  expect(others.sort()).toEqual([
    // Why a stop failed, and why a start was refused.
    'server/host/start/ending.ts',
    'server/main.ts',
    'server/observe/log/log.ts',
  ]);
});
