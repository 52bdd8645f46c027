import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEMO_CARDS } from '../../contract/sandbox/demo-cards.ts';
import { type Ending, embeddedServerOf, isRunning, startInVain, startService, waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { useDirectory } from '../harness/service.ts';

/**
 * The maximum duration of a stop, in seconds, in addition to a multiple of the start's duration on the same machine.
 */
const STOP_MOST = 20;
const STARTS_MOST = 20;

const directory = await useDirectory();

/** Counts the paths, so that each test gets a path at which no file exists. */
let paths = 0;
const newPath = () => join(directory.path, `ledger-${++paths}`);
/** The ledger that all other tests use, because creating a ledger takes a second. */
const ledger = () => join(directory.path, 'ledger');

/** Returns the message of a failed start. Fails unless the message is the only text on standard error. */
function messageOf({ exitCode, errors, output }: Ending): string {
  expect(exitCode).toBe(1);
  expect(errors).toMatch(/^\nThe service cannot start: [^\n]+[.)]\nRunbook: docs\/runbook\/[a-z-]+\.md\n$/);
  expect(`${errors}${output}`).not.toMatch(/\n\s+at |node:internal|Error:/);
  expect(output).not.toContain('Ready at');
  return errors;
}

describe('a failed start gives the reason in one sentence', () => {
  test.each([
    ['PORT', 'eighty', "PORT is 'eighty'"],
    ['PORT', '70000', '0 to 65535'],
    ['PORT', '-1', 'PORT'],
    ['MODE', 'production', 'sandbox, live'],
    ['HOST', 'not a host!', "HOST is 'not a host!'"],
    ['RATE_LIMIT_PER_ADDRESS', '-1', 'from 1 to 999999'],
    ['RATE_LIMIT_PER_KEY', 'many', 'from 1 to 999999'],
    ['OVERLOAD_DELAY_MILLISECONDS', '60001', 'from 1 to 60000'],
    ['OVERLOAD_DELAY_MILLISECONDS', '1.5', 'from 1 to 60000'],
    ['KEEP_ALIVE_MILLISECONDS', '999', 'from 1000 to 3600000'],
    ['TRUSTED_PROXIES', '11', 'from 0 to 10'],
    ['PUBLIC_URL', 'transfers.example.com', 'such as https://transfers.example.com'],
    ['PUBLIC_URL', 'https://example.com/transfers', 'a scheme and a host only'],
    ['LOG_LEVEL', 'loud', 'fatal, error, warn'],
    ['DATABASE_URL', 'mysql://root@127.0.0.1/x', 'postgresql://'],
  ])('%s=%s', async (name, value, word) => {
    expect(messageOf(await startInVain({ DATA_DIR: ledger(), [name]: value }))).toContain(word);
  });

  test('an address that belongs to a different machine', async () => {
    const ending = await startInVain({ DATA_DIR: ledger(), HOST: '192.0.2.1' });
    expect(messageOf(ending)).toContain('not an address of this machine');
  });

  test('an unreachable database, without its password', async () => {
    const ending = await startInVain({ DATABASE_URL: 'postgresql://someone:pass-word@127.0.0.1:1/ledger' });
    const message = messageOf(ending);
    expect(message).toContain('DATABASE_URL');
    expect(`${message}${ending.output}`).not.toContain('pass-word');
  });

  test('a data directory that is a file, or is inside one', async () => {
    const path = newPath();
    await writeFile(path, '');
    expect(messageOf(await startInVain({ DATA_DIR: path }))).toContain('not a directory');
    expect(messageOf(await startInVain({ DATA_DIR: join(path, 'below') }))).toContain('not a directory');
  });

  test('a data directory that cannot be written', async () => {
    // Root may write everywhere, except where the kernel refuses.
    const path = process.getuid?.() === 0 ? '/proc/transfer-service' : newPath();
    if (path !== '/proc/transfer-service') {
      await mkdir(path);
      await chmod(path, 0o500);
    }
    const message = messageOf(await startInVain({ DATA_DIR: path }));
    expect(message).toContain(path);
    expect(message).toContain('DATA_DIR');
  });

  test('a port in use, before it creates a ledger', async () => {
    const taken: Server = createServer();
    await new Promise<void>((listening) => taken.listen({ host: '127.0.0.1', port: 0 }, listening));
    try {
      const address = taken.address();
      const port = typeof address === 'object' ? String(address?.port) : '';
      const path = newPath();
      const ending = await startInVain({ DATA_DIR: path, PORT: port });
      expect(messageOf(ending)).toContain(`Port ${port} is already in use`);
      expect(ending.output).not.toContain('Creating a new ledger');
      expect(existsSync(path)).toBe(false);
    } finally {
      taken.close();
    }
  });

  test('a second start of the same service on the same port', async () => {
    const path = ledger();
    const service = await startService({ DATA_DIR: path });
    try {
      const { port } = new URL(service.url);
      const message = messageOf(await startInVain({ DATA_DIR: path, PORT: port }));
      expect(message).toContain(`The service already runs on port ${port} with the data directory ${path}`);
      expect(message).toContain(`as process ${service.child.pid}`);
      // With another data directory, the start reports that a different application is using the port.
      const other = messageOf(await startInVain({ DATA_DIR: newPath(), PORT: port }));
      expect(other).toContain(`Port ${port} is already in use`);
    } finally {
      await service.stop();
    }
  });

  test('a data directory in use, with the process id, while the other service keeps running', async () => {
    const path = ledger();
    const service = await startService({ DATA_DIR: path });
    try {
      const message = messageOf(await startInVain({ DATA_DIR: path }));
      expect(message).toContain(path);
      expect(message).toContain(`process ${service.child.pid}`);
      expect((await service.client.transfers.create({ amount: 1, card_id: 'card_active' })).status).toBe('completed');
    } finally {
      await service.stop();
    }
  });
});

function eventsIn(errors: string): readonly unknown[] {
  const lines = errors.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { readonly event: string }).event);
}

describe('a start describes the service', () => {
  test('prints the address, ledger, cards, a command to copy and the catalog', async () => {
    const path = join(directory.path, 'first-start');
    const service = await startService({ DATA_DIR: path });
    try {
      const output = service.output();
      for (const { name, purpose } of DEMO_CARDS) expect(output).toMatch(new RegExp(`${name} +${purpose}`));
      const port = new URL(service.url).port;
      for (const part of [
        `Ready at http://localhost:${port}\n`,
        `http://localhost:${port}/errors\n`,
        path,
        'Ctrl-C',
        `http://localhost:${port}/console\n`,
      ]) {
        expect(output).toContain(part);
      }
      // The log is written before the banner, but to another pipe.
      await waitFor('the log', async () => service.errors().includes('"service_ready"'));
      expect(eventsIn(service.errors())).toEqual(expect.arrayContaining(['service_start', 'service_ready']));
      const shown = /curl (\S+) -d '([^']+)'/.exec(output);
      const { origin, pathname } = new URL(shown?.[1] ?? '');
      expect(origin).toBe(`http://localhost:${port}`);
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const response = await sendRaw(service.url, { path: pathname, headers, body: shown?.[2] });
      expect([response.status, response.fields.amount]).toEqual([201, 1000]);
    } finally {
      await service.stop();
    }
  });

  test('prints one line instead, after the first start of a ledger', async () => {
    const path = ledger();
    await (await startService({ DATA_DIR: path })).stop();
    const service = await startService({ DATA_DIR: path });
    try {
      const output = service.output();
      expect(output).toContain(`Ready at http://localhost:${new URL(service.url).port}\n`);
      expect(output).not.toMatch(/card_active|\/console/);
    } finally {
      await service.stop();
    }
  });

  test('prints pages at PUBLIC_URL, and the command with the address it listens on', async () => {
    const service = await startService({
      DATA_DIR: join(directory.path, 'public-url'),
      PUBLIC_URL: 'https://transfers.example.com',
    });
    try {
      const output = service.output();
      for (const page of ['guides', 'docs', 'errors', 'console']) {
        expect(output).toContain(`https://transfers.example.com/${page}\n`);
      }
      expect(output).toContain(`curl http://localhost:${new URL(service.url).port}/api/`);
    } finally {
      await service.stop();
    }
  });

  test('logs faults as JSON lines on standard error only', async () => {
    const service = await startService({ DATA_DIR: ledger() });
    try {
      const [before, logged] = [service.output(), service.errors()];
      await service.client.sandbox.stopDatabase();
      const response = await sendRaw(service.url, { body: { amount: 1, card_id: 'card_active' } });
      expect(response.status).toBe(500);
      await waitFor('the line', async () => service.errors().includes('unknown_create_transfer'));
      const lines = service.errors().trim().split('\n');
      const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(entries).toContainEqual(expect.objectContaining({ code: 'unknown_create_transfer' }));
      // `output` includes standard error. Both grew by the same length, so nothing was written to standard output.
      expect(service.output().length - before.length).toBe(service.errors().length - logged.length);
      await service.client.sandbox.startDatabase();
    } finally {
      await service.stop();
    }
  });

  test('logs nothing with LOG_LEVEL=silent', async () => {
    const service = await startService({ DATA_DIR: ledger(), LOG_LEVEL: 'silent' });
    try {
      await service.client.sandbox.stopDatabase();
      expect((await sendRaw(service.url, { body: { amount: 1, card_id: 'card_active' } })).status).toBe(500);
      expect(service.errors()).toBe('');
    } finally {
      await service.stop();
    }
  });

  test('logs lines for people with LOG_FORMAT=text', async () => {
    const service = await startService({ DATA_DIR: ledger(), LOG_FORMAT: 'text', REQUEST_LOG: 'all' });
    try {
      expect((await sendRaw(service.url, { body: { amount: 1 } })).status).toBe(400);
      await waitFor('the line of the request', async () => service.errors().includes(' request '));
      // On a slow machine, the database may not respond for a moment.
      const ofSilence = / readiness: .* (reason|before)=database_silent( |$)/;
      const lines = service.errors().trim().split('\n');
      for (const line of lines.filter((one) => !ofSilence.test(one)))
        expect(line).toMatch(/^20\d\d-[0-9T:.-]+Z info {2}[a-z_]+/);
      expect(service.errors()).toMatch(
        / info {2}service_ready: the service accepts requests port=\d+ milliseconds=\d+\n/,
      );
      expect(service.errors()).toMatch(/ request .* operation=create_transfer .* status=400 /);
    } finally {
      await service.stop();
    }
  });
});

describe('a stop leaves no process, and a restart finds all data', () => {
  test.each([
    ['SIGTERM', 1],
    ['SIGINT', 1],
    ['SIGINT', 2],
    ['SIGHUP', 1],
  ] as const)('after %s, sent %i times', async (signal, times) => {
    const path = ledger();
    const startedAt = performance.now();
    const service = await startService({ DATA_DIR: path });
    const most = STOP_MOST + (STARTS_MOST * (performance.now() - startedAt)) / 1000;
    const { processId } = await embeddedServerOf(path);
    const transfer = await service.client.transfers.create({ amount: 5, card_id: 'card_active' });
    const { balance } = await service.client.cards.get('card_active');
    // Waits for 'close' instead of 'exit', because the last output may come after 'exit'.
    const ended = new Promise((resolve) => service.child.once('close', resolve));
    const stoppedAt = performance.now();
    for (let time = 0; time < times; time += 1) service.child.kill(signal);
    expect(await ended).toBe(0);
    const seconds = (performance.now() - stoppedAt) / 1000;
    console.log(`${signal} x ${times}: stopped in ${seconds.toFixed(2)} s`);
    expect(seconds).toBeLessThan(most);
    expect(await isRunning(processId)).toBe(false);
    expect(service.output()).toContain('Stopped.');
    const again = await startService({ DATA_DIR: path });
    try {
      expect(await again.client.transfers.get(transfer.transfer_id)).toEqual({ ...transfer });
      expect((await again.client.cards.get('card_active')).balance).toBe(balance);
    } finally {
      expect(await again.stop()).toBe(0);
    }
  });

  test('while the database is stopped', async () => {
    const path = ledger();
    const service = await startService({ DATA_DIR: path });
    const { balance } = await service.client.cards.get('card_active');
    await service.client.sandbox.stopDatabase();
    expect(await service.stop()).toBe(0);
    const again = await startService({ DATA_DIR: path });
    expect((await again.client.cards.get('card_active')).balance).toBe(balance);
    expect(await again.stop()).toBe(0);
  });

  test('after a SIGKILL, when the next start stops the orphaned database and continues with its ledger', async () => {
    const path = ledger();
    const service = await startService({ DATA_DIR: path });
    const { processId } = await embeddedServerOf(path);
    const { transfer_id } = await service.client.transfers.create({ amount: 5, card_id: 'card_active' });
    await service.kill();
    const again = await startService({ DATA_DIR: path });
    expect(await isRunning(processId)).toBe(false);
    expect((await again.client.transfers.get(transfer_id)).status).toBe('completed');
    expect(await again.stop()).toBe(0);
  });
});
