import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { WEBHOOK_STATUS_REASONS } from '../../../domain/webhooks/webhook.ts';
import { runHere } from '../../cli/in-process.ts';
import { deadUrl } from '../../sdk/canned-service.ts';
import { followGuide } from '../guide-trial.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const RUNBOOK = read('docs/webhooks-runbook.md');

/** The runbook's commands, such as `webhooks update wh_… --status enabled`. */
const COMMANDS = [
  ...new Set(
    [...RUNBOOK.matchAll(/(?:`|npx transfer-service )((?:webhooks|events|audit) [^`\n]+)/g)].map(
      ([, text = '']) => text,
    ),
  ),
];

test('the runbook contains commands', () => {
  expect(COMMANDS.length).toBeGreaterThan(10);
});

test.each(COMMANDS)('the command line has %s', async (command) => {
  const [resource = '', name = '', ...rest] = command.split(/\s+/);
  const { exitCode, output } = await runHere('http://127.0.0.1:1', [resource, name, '--help']);
  expect(exitCode).toBe(0);
  expect(output).toContain(`transfer-service ${resource} ${name}`);
  for (const option of rest.filter((word) => word.startsWith('--'))) expect(output).toContain(`${option} `);
});

describe('the runbook says what to do about', () => {
  test.each(WEBHOOK_STATUS_REASONS)('the status_reason %s', (reason) => {
    expect(RUNBOOK).toContain(`| \`${reason}\` |`);
  });

  test.each(['webhook.failing', 'webhook.disabled'])('the event %s', (type) => {
    expect(RUNBOOK).toContain(`the event \`${type}\``);
  });

  // The names of delivery failures, and the log lines about them.
  const errors = [...read('server/background/outbound/send-failure.ts').matchAll(/^ {2}\| '([a-z_]+)'/gm)].map(
    ([, name = '']) => name,
  );
  const logged = [
    ...read('server/background/delivery/deliverer.ts').matchAll(/(?:failing|disabled|gone): '([^']+)'/g),
    ...read('server/service.ts').matchAll(/'(cannot deliver events[^']+)'/g),
  ].map(([, text = '']) => text);

  test('more than a few names and log lines', () => {
    expect(errors).toContain('connection_refused');
    expect(logged).toHaveLength(4);
  });

  test.each(errors.filter((name) => name !== 'aborted'))('the result %s', (name) => {
    expect(RUNBOOK).toContain(`\`${name}\``);
  });

  test.each(logged)('the log line: %s', (text) => {
    expect(RUNBOOK.replaceAll(/\s+/g, ' ')).toContain(text);
  });
});

followGuide('webhooks-runbook', {
  // Nothing listens at this URL, so the webhook's test event fails.
  prepare: async (_folder, url) => {
    const created = await fetch(`${url}/api/v0.1/core/webhook`, {
      method: 'POST',
      body: JSON.stringify({ url: await deadUrl() }),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(created.status).toBe(201);
  },
  fails: /webhooks test/,
});
