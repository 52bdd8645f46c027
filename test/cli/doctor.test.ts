import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { nodeOf } from '../../cli/doctor/examine.ts';
import { exampleReply } from '../../contract/examples.ts';
import type { Check } from '../../domain/doctor-check.ts';
import { createAuthority, type Identity } from '../outbound/certificates.ts';
import { deadUrl } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';

const MAIN = resolve(import.meta.dirname, '../../cli/main.ts');
const authority = createAuthority();
const VALID = authority.issue('IP:127.0.0.1');
const EXPIRED = authority.issue('IP:127.0.0.1', 'expired');
const ENDS_IN_A_DAY = authority.issue('IP:127.0.0.1', 'ends in a day');
const OTHER_NAME = authority.issue('DNS:other.example');
const folder = mkdtempSync(join(tmpdir(), 'transfer-service-doctor-'));
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, authority.ca);

const servers: Server[] = [];
afterAll(() => {
  authority.remove();
  rmSync(folder, { recursive: true });
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

type Reply = { readonly status?: number; readonly body?: object | string; readonly headers?: Record<string, string> };

const WELL: Readonly<Record<string, Reply>> = {
  '/health/live': { body: { status: 'live' } },
  '/health/ready': { body: { status: 'ready' }, headers: { readiness: 'ready' } },
  '/openapi.json': { body: { info: { version: '1.2.3' } } },
  '/api/v0.1/console/session': { body: Object(exampleReply('get_session')) },
  '/api/v0.1/operator/status': { body: { ...Object(exampleReply('get_status')), degraded: [] } },
};

/** Starts a server that returns these responses by path. */
async function serve(replies: Readonly<Record<string, Reply>>): Promise<string> {
  const server = createServer((request, response) => {
    const { status = 200, body = '', headers = {} } = replies[request.url ?? ''] ?? { status: 404 };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const doctor = (url: string, environment = {}): Promise<Outcome> =>
  runHere(url, ['doctor', '--remote', '--json'], environment);

async function checksOf(url: string, environment = {}): Promise<{ exitCode: number; checks: Map<string, Check> }> {
  const { exitCode, output } = await doctor(url, environment);
  const { sections } = JSON.parse(output) as { sections: { checks: Check[] }[] };
  return { exitCode, checks: new Map(sections.flatMap(({ checks }) => checks).map((check) => [check.name, check])) };
}

describe('the check of the service', () => {
  test('shows name, time, readiness, key and mode of a healthy service', async () => {
    const { exitCode, checks } = await checksOf(await serve(WELL), { key: 'secret' });
    expect([...checks.values()].filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
    expect(exitCode).toBe(0);
    expect(checks.get('service')?.message).toBe('Transfer Service 1.2.3');
    expect(checks.get('key')?.message).toMatch(/^valid for /);
    const session = { ...Object(exampleReply('get_session')), program_id: 'prog_1', program_name: 'Payroll cards' };
    const keyOf = async (all: boolean) => {
      const reply = { '/api/v0.1/console/session': { body: { ...session, all_programs: all } } };
      return (await checksOf(await serve({ ...WELL, ...reply }), { key: 'secret' })).checks.get('key')?.message;
    };
    expect(await keyOf(false)).toMatch(/^valid for Payroll cards \(prog_1\); /);
    expect(await keyOf(true)).toMatch(/^valid for every card program, acts in Payroll cards \(prog_1\); /);
    expect(checks.has('process')).toBe(true);
  });

  test.each<[string, Readonly<Record<string, Reply>>, string, Partial<Check>]>([
    [
      'is another program',
      { '/health/live': { status: 404, body: 'no', headers: { server: 'nginx' } } },
      'service',
      { outcome: 'problem', message: expect.stringContaining('status 404, from nginx. Check the port') },
    ],
    [
      'is not ready',
      {
        '/health/ready': {
          status: 503,
          body: { Message: 'The disk is full.' },
          headers: { readiness: 'disk_full', runbook: 'docs/runbook/disk-full.md' },
        },
      },
      'readiness',
      { outcome: 'problem', message: 'disk_full: The disk is full.', runbook: 'docs/runbook/disk-full.md' },
    ],
    [
      'has fewer connections than configured',
      { '/health/ready': { headers: { readiness: 'few_connections', runbook: 'docs/runbook/few-connections.md' } } },
      'readiness',
      { outcome: 'warning', message: 'few_connections' },
    ],
    [
      'has a different time',
      { '/health/live': { body: { status: 'live' }, headers: { date: 'Tue, 01 Jan 2030 00:00:00 GMT' } } },
      'clock',
      { outcome: 'problem', message: expect.stringMatching(/\d+ s behind the clock of the service. Synchronize/) },
    ],
    [
      'does not accept the key',
      {
        '/api/v0.1/console/session': {
          status: 401,
          body: { Message: 'The key was revoked.', Status: 401, Code: 'unauthenticated', Type: 'Request Error' },
        },
      },
      'key',
      { outcome: 'problem', message: expect.stringContaining('The key is not accepted: The key was revoked. Check') },
    ],
    [
      'cannot look up the key because its database is down',
      {
        '/health/ready': {
          status: 503,
          body: { Message: 'The database does not respond.' },
          headers: { readiness: 'database_silent', runbook: 'docs/runbook/database-silent.md' },
        },
        '/api/v0.1/console/session': {
          status: 500,
          body: { Message: 'An error occurred.', Status: 500, Code: 'unknown_get_session', Type: 'API Error' },
        },
      },
      'key',
      {
        outcome: 'problem',
        message: 'The key could not be checked: database_silent: The database does not respond.',
        runbook: 'docs/runbook/database-silent.md',
      },
    ],
    [
      'cannot look up the key although it is ready',
      {
        '/api/v0.1/console/session': {
          status: 503,
          body: { Message: 'Too busy.', Status: 503, Code: 'service_unavailable', Type: 'API Error' },
        },
      },
      'key',
      { outcome: 'problem', message: 'The key could not be checked: Too busy.', runbook: 'docs/runbook/not-ready.md' },
    ],
    [
      'reports a shortage',
      { '/api/v0.1/operator/status': { body: Object(exampleReply('get_status')) } },
      'books not verified',
      { outcome: 'warning', runbook: 'docs/runbook/books-not-verified.md' },
    ],
  ])('finds a service that %s', async (_, different, name, expected) => {
    const { exitCode, checks } = await checksOf(await serve({ ...WELL, ...different }), { key: 'secret' });
    expect(checks.get(name)).toMatchObject(expected);
    expect(exitCode).toBe(expected.outcome === 'problem' ? 1 : 0);
  });
});

describe('the check of the connection', () => {
  test.each<[string, () => Promise<string> | string, string, string]>([
    ['nothing listens', deadUrl, 'connection', 'Nothing listens on port'],
    ['a name that does not resolve', () => 'http://no-such-host.invalid', 'name', 'cannot be resolved: '],
    [
      'no TLS',
      async () => (await serve(WELL)).replace('http:', 'https:'),
      'TLS',
      'The server there does not speak TLS. Begin the URL with http://',
    ],
    ['a certificate of an unknown authority', () => serveTls(VALID), 'TLS', 'Node does not trust the authority'],
  ])('reports the problem: %s', async (_, urlOf, name, message) => {
    const { exitCode, checks } = await checksOf(await urlOf());
    expect(checks.get(name)).toMatchObject({ outcome: 'problem', message: expect.stringContaining(message) });
    expect(exitCode).toBe(1);
    // The other checks would fail for the same reason.
    expect(checks.has('service')).toBe(false);
  });

  test.each<[string, Identity, string, RegExp]>([
    ['has expired', EXPIRED, 'problem', /^The certificate has expired\. Renew it\.$/],
    ['is for another name', OTHER_NAME, 'problem', /^The certificate is not for 127\.0\.0\.1\./],
    ['expires within a day', ENDS_IN_A_DAY, 'warning', /^The certificate expires in 1 day\. Renew it\.$/],
    ['is valid', VALID, 'ok', /^TLSv1\.\d; the certificate is valid for \d+ more days$/],
  ])('judges a certificate that %s', async (_, identity, outcome, message) => {
    const url = await serveTls(identity);
    const child = execFile(process.execPath, [MAIN, 'doctor', '--remote', '--json', '--url', url], {
      // Node reads this variable when it starts.
      env: { PATH: process.env.PATH ?? '', NODE_EXTRA_CA_CERTS: caFile },
    });
    let output = '';
    for await (const text of child.stdout ?? []) output += text;
    const { sections } = JSON.parse(output) as { sections: { checks: Check[] }[] };
    const found = sections.flatMap(({ checks }) => checks).find(({ name }) => name === 'TLS');
    expect(found).toMatchObject({ outcome, message: expect.stringMatching(message) });
  });

  async function serveTls(identity: Identity): Promise<string> {
    const server = createTlsServer(identity, (_, response) => response.writeHead(404).end());
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
});

test('prints one line for each check, what to do, and a summary', async () => {
  const url = await serve({ ...WELL, '/health/live': { status: 404 } });
  const { exitCode, output } = await runHere(url, ['doctor', '--remote']);
  expect(exitCode).toBe(1);
  expect(output).toMatch(/^This machine\nok {7}Node: {12}\d/);
  expect(output).toContain('\nproblem  service:         Something other than Transfer Service responds at');
  expect(output).toContain('Runbook: transfer-service runbook service-down\n');
  expect(output).toMatch(/\n\n1 problem, no warnings, 5 ok\n$/);
  for (const line of output.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
});

test.each([
  ['18.20.0', 'problem'],
  ['20.11.0', 'ok'],
  ['24.21.0', 'ok'],
])('judges Node %s: %s', (version, outcome) => {
  expect(nodeOf(version).outcome).toBe(outcome);
});
