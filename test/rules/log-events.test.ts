import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LOG_EVENTS } from '../../server/observe/log/log-events.ts';

const root = join(import.meta.dirname, '..', '..');

/**
 * Files that are not searched: the table of events itself, and a table of columns that lists the columns of `event`.
 */
const TABLES = ['server/observe/log/log-events.ts', 'server/store/text-columns.ts'];

const sources = globSync('server/**/*.ts', { cwd: root })
  .filter((file) => !file.endsWith('.test.ts') && !TABLES.includes(file))
  .map((file) => readFileSync(join(root, file), 'utf8'));

/** The names of the events that the source logs or passes to a function that logs. */
const written = new Set(
  sources.flatMap((text) => [
    ...[...text.matchAll(/\bevent: '([a-z_]+)'/g)].map(([, name]) => name),
    ...[...text.matchAll(/\bfailureOf\(log, '([a-z_]+)'/g)].map(([, name]) => name),
    ...[...text.matchAll(/: LogEvent = '([a-z_]+)'/g)].map(([, name]) => name),
  ]),
);

test('docs/logs.md lists every event that the source logs, and no others', () => {
  expect([...written].sort()).toEqual(Object.keys(LOG_EVENTS).sort());
});

test('only the log writes to standard error: nothing uses console or creates its own pino logger', () => {
  const others = globSync('server/**/*.ts', { cwd: root }).filter((file) => {
    // Commands print their output for people.
    if (/^server.host.(?:commands.|administration\.ts$)/.test(file)) return false;
    const text = readFileSync(join(root, file), 'utf8');
    return /\bconsole\.\w+\(|from 'pino'|process\.stderr\.write\(/.test(text);
  });
  expect(others.sort()).toEqual([
    // This file prints why a stop failed or a start was refused.
    'server/host/start/lifecycle.ts',
    'server/main.ts',
    'server/observe/log/log.ts',
  ]);
});
