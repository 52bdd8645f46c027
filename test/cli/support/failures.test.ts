import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { exampleReply } from '../../../contract/examples.ts';
import { createAuthority, type Identity } from '../../outbound/certificates.ts';
import { deadUrl, startCannedService } from '../../sdk/canned-service.ts';
import { runHere } from '../in-process.ts';

const MAIN = resolve(import.meta.dirname, '../../../cli/main.ts');
const service = await startCannedService();
const authority = createAuthority();
const folder = mkdtempSync(join(tmpdir(), 'transfer-service-failures-'));
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, authority.ca);
// Node reads this variable when it starts.
const TRUSTED = { NODE_EXTRA_CA_CERTS: caFile };
const closing: (() => void)[] = [];
afterAll(async () => {
  await service.close();
  authority.remove();
  rmSync(folder, { recursive: true });
  for (const close of closing) close();
});

const REFUSED = {
  ...Object(exampleReply('inspect_error')),
  request_id: 'req_1',
  operation: 'create_transfer',
  message: "The card '1.00 EUR' has 0.00 USD available; the transfer is for 987.65 USD.",
  request: { amount: 98_765, card_id: '1.00 EUR' },
  money_moved: 'no',
  checks: {
    account: 'card',
    available: '0',
    amount: '98765',
    card_in_daily_amount: '100 of 2000 used',
    card_in_daily_count: '1 of 2 used',
    until: '2026-11-22T20:59:48.856Z',
  },
  causes: [],
};

const SHOWN = `checks.account: card
checks.available: 0.00 USD
checks.amount: 987.65 USD
checks.card_in_daily_amount: 1.00 USD of 20.00 USD used
checks.card_in_daily_count: 1 of 2 used
checks.until: 2026-11-22 20:59:48 UTC
`;

/** Returns the output without the spaces that align it. */
async function outputOf(text: string, body: object): Promise<string> {
  service.play({ status: 200, body });
  const { exitCode, output } = await runHere(service.url, text.split(' '));
  expect(exitCode).toBe(0);
  return output.replaceAll(/: +/g, ': ');
}

describe('the checks of an error', () => {
  test('are printed as amounts and times', async () => {
    expect(await outputOf('errors inspect req_1', REFUSED)).toContain(SHOWN);
  });

  test.each([1_795_381_188_856, '1795381188856'])(
    'are printed as times even if an earlier version stored the time as %j',
    async (until) => {
      const earlier = { ...REFUSED, checks: { ...REFUSED.checks, until } };
      expect(await outputOf('errors inspect req_1', earlier)).toContain(SHOWN);
    },
  );

  test("use the request's currency if the message names none", async () => {
    const message = 'The reference is taken.';
    const named = { ...REFUSED, message, request: { amount: 98_765, currency: 'JPY' } };
    expect(await outputOf('errors inspect req_1', named)).toContain('checks.amount: 98,765 JPY\n');
    const unknown = { ...REFUSED, message, request: null };
    expect(await outputOf('errors inspect req_1', unknown)).toContain('checks.amount: 98765\n');
    const ambiguous = { ...REFUSED, message: '1.00 USD is not 1.00 EUR.' };
    expect(await outputOf('errors inspect req_1', ambiguous)).toContain('checks.amount: 98765\n');
  });

  test('are the same in requests inspect, which prints no field twice', async () => {
    const request = {
      ...Object(exampleReply('inspect_request')),
      request_id: 'req_1',
      received_at: REFUSED.created_at,
      operation: 'create_transfer',
      program_id: REFUSED.program_id,
      caller: 'key_1',
      idempotency_key: REFUSED.idempotency_key,
      status: REFUSED.status,
      money_moved: 'no',
      summary: `Declined: insufficient funds. ${REFUSED.message} No money moved.`,
      error: REFUSED,
      transfers: [],
      reversals: [],
      events: [],
      audit_entries: [],
    };
    const output = await outputOf('requests inspect req_1', request);
    expect(output).toContain(SHOWN);
    expect(output).toContain(`code: ${REFUSED.code}\n`);
    const names = [...output.matchAll(/^([a-z_.]+):/gm)].map(([, name]) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names).not.toContain('created_at');
    expect(names).not.toContain('message');
    // `money_moved` differs, so it is printed. When the error was stored, it was not yet known whether money had moved.
    const settled = { ...request, money_moved: 'yes', error: { ...REFUSED, money_moved: 'unknown' } };
    expect(await outputOf('requests inspect req_1', settled)).toMatch(
      /money_moved: yes\n[\s\S]*money_moved: unknown\n/,
    );
  });
});

test('names the missing option if a request has no card program', async () => {
  const record = {
    Message:
      "The required header 'Program-Id' is missing: this API key can act in all card programs, so each request must name one.",
    Status: 400,
    Code: 'get_card_schema',
    Type: 'Request Error',
  };
  service.play({ status: 400, body: record });
  const { exitCode, errors } = await runHere(service.url, ['cards', 'get', 'emp_2'], { key: 'secret' });
  expect(exitCode).toBe(1);
  expect(errors).toContain(
    'What to do:  Add --program <program_id>, or set TRANSFER_SERVICE_PROGRAM.\n' +
      '             List the card programs:\n' +
      '               transfer-service programs list\n',
  );
  expect(errors).not.toContain('Correct the problem in the message');
  service.play({ status: 400, body: { ...record, Message: "'limit' must be a whole number." } });
  expect((await runHere(service.url, ['cards', 'get', 'emp_2'])).errors).not.toContain('--program');
});

test.each([
  ['service_disabled', 'See what is disabled, and why:', 'switch show'],
  ['service_unavailable', 'Find out what is wrong:', 'doctor'],
  ['unknown_create_transfer', 'See what caused it:', 'errors inspect <request_id>'],
])('errors explain %s names the command for operators', async (code, purpose, command) => {
  const { output } = await runHere(service.url, ['errors', 'explain', code]);
  expect(output).toContain(`Operators:    ${purpose}\n                transfer-service ${command}\n`);
});

test('errors explain names no command for an error that the caller can correct', async () => {
  const { output } = await runHere(service.url, ['errors', 'explain', 'card_not_found']);
  expect(output).not.toContain('Operators:');
});

describe('the message about a failed connection', () => {
  test('does not suggest start if the service is on another machine', async () => {
    const { exitCode, errors } = await runHere('http://no-such-host.invalid', ['cards', 'list']);
    expect(exitCode).toBe(4);
    expect(errors).not.toContain('Start it');
    expect(errors).toContain('Find out what is wrong: transfer-service doctor\n');
  });

  test('suggests start if nothing listens on this machine', async () => {
    const { errors } = await runHere(await deadUrl(), ['cards', 'list']);
    expect(errors).toContain('Is the service running? Start it: transfer-service start\n');
  });

  test.each<[string, Identity, NodeJS.ProcessEnv, string]>([
    ['of an authority that Node does not know', authority.issue('IP:127.0.0.1'), {}, 'set NODE_EXTRA_CA_CERTS to its'],
    ['that has expired', authority.issue('IP:127.0.0.1', 'expired'), TRUSTED, 'The certificate has expired.'],
    ['for another name', authority.issue('DNS:other.example'), TRUSTED, 'is not for 127.0.0.1.'],
  ])('explains a certificate %s', async (_, identity, environment, advice) => {
    const server = createServer(identity, (_request, response) => response.end());
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    closing.push(() => server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, errors } = await runApart(['cards', 'list', '--url', url], environment);
    expect(code).toBe(4);
    expect(errors).toContain(`error: Could not open a TLS connection to ${url}. `);
    expect(errors).toContain(advice);
    expect(errors).not.toContain('--use-system-ca');
    expect(errors).not.toContain('Start it');
  });
});

function runApart(args: string[], environment: NodeJS.ProcessEnv): Promise<{ code: unknown; errors: string }> {
  return new Promise((done) => {
    const env = { PATH: process.env.PATH ?? '', ...environment };
    const child = execFile(process.execPath, [MAIN, ...args], { env }, (_error, _output, errors) =>
      done({ code: child.exitCode, errors }),
    );
  });
}
