import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { TransferRecord } from '../../contract/transfers.ts';
import type { Attempt } from '../../domain/processors/attempt.ts';
import { WATCH_LIMITS } from '../../server/http/admission/watchers.ts';
import { markSent, toAttempt } from '../../server/store/processors/attempt.ts';
import { answered, attemptOf, report, SilentProcessors, stepFor } from '../fixtures/processors.ts';
import { ledgerGateway, serve, startHttpServer } from '../harness/http-server.ts';
import type { Ledger } from '../harness/ledger.ts';
import { checkBalances, useLedger, useServer } from '../harness/use-ledger.ts';

// Two ledgers on one database act as two service processes. The first one has the port.
const server = await useServer();
const processors = new SilentProcessors();
const ledger = useLedger(server.connection, undefined, undefined, undefined, processors);
const other = useLedger(server.connection, undefined, undefined, undefined, new SilentProcessors());

checkBalances(ledger);

type Sent = { readonly status: number; readonly headers: Headers; readonly body: TransferRecord };

async function load(port: number, headers: Record<string, string> = {}, body: object = {}): Promise<Sent> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v0.1/core/transfer`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ amount: 1000, card_id: 'card_processor', ...body }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as TransferRecord };
}

/** Returns the attempt of the next transfer that begins to wait, marked as sent. */
async function sentOf(before: number): Promise<Attempt> {
  while (processors.noted.length <= before) await new Promise((resume) => setTimeout(resume, 1));
  const attempt = await attemptOf(ledger, processors.noted[before]?.transfer_id ?? '');
  const [row] = await ledger.database.write(markSent([attempt], 30_000));
  if (row === undefined) throw new Error('the attempt was not ready');
  return toAttempt(row);
}

async function answer(to: Ledger, attempt: Attempt, ...of: Parameters<typeof answered>): Promise<void> {
  await report(to, attempt, stepFor(attempt, 'send', answered(...of)));
}

describe('without a preference, or with an invalid one', () => {
  test.each([{}, { Prefer: 'wait=soon' }, { Prefer: 'wait' }, { Prefer: 'wait=0' }, { Prefer: 'return=minimal' }])(
    'returns the transfer at once, with an unknown outcome: %o',
    async (headers) => {
      const { port } = await serve(ledgerGateway(ledger));
      const { status, headers: sent, body } = await load(port, headers as Record<string, string>);
      expect(status).toBe(201);
      expect(body).toMatchObject({ status: 'pending', outcome: 'open' });
      expect(sent.get('Money-Moved')).toBe('unknown');
      expect(sent.get('Preference-Applied')).toBeNull();
    },
  );

  test('does not wait for a card without a processor', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const { headers, body } = await load(port, { Prefer: 'wait=10' }, { card_id: 'card_active' });
    expect(body).toMatchObject({ status: 'completed' });
    expect([headers.get('Money-Moved'), headers.get('Preference-Applied')]).toEqual(['yes', null]);
  });
});

describe('a caller that prefers to wait', () => {
  test.each([
    ['an approval', answered('approved'), { status: 'completed', outcome: 'final', captured_amount: 1000 }, 'yes'],
    [
      'a decline',
      answered('declined', { code: '51' }),
      { status: 'failed', error: { Code: 'insufficient_funds' } },
      'no',
    ],
  ] as const)(
    'gets the final transfer after %s, from this process or another',
    async (_name, { outcome, ...more }, expected, moved) => {
      const { port } = await serve(ledgerGateway(ledger));
      for (const one of [ledger, other]) {
        const before = processors.noted.length;
        const reply = load(port, { Prefer: 'wait=10' });
        await answer(one, await sentOf(before), outcome, more);
        const { status, headers, body } = await reply;
        expect(status).toBe(201);
        expect(body).toMatchObject(expected);
        expect([headers.get('Money-Moved'), headers.get('Preference-Applied')]).toEqual([moved, 'wait=10']);
      }
    },
  );

  test('keeps waiting while the outcome is unknown', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const before = processors.noted.length;
    const reply = load(port, { Prefer: 'wait=10' });
    await answer(ledger, await sentOf(before), 'unknown');
    await answer(ledger, await attemptOf(ledger, processors.noted[before]?.transfer_id ?? ''), 'approved');
    expect((await reply).body).toMatchObject({ status: 'completed', outcome: 'final' });
  });

  test('gets the open transfer when its wait ends', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const { status, headers, body } = await load(port, { Prefer: 'wait=1' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: 'pending', outcome: 'open', error: null });
    expect([headers.get('Money-Moved'), headers.get('Preference-Applied')]).toEqual(['unknown', 'wait=1']);
  });

  test('waits at most ten seconds', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const before = processors.noted.length;
    const reply = load(port, { Prefer: 'wait=600' });
    await answer(ledger, await sentOf(before), 'approved');
    expect((await reply).headers.get('Preference-Applied')).toBe('wait=10');
  });
});

describe('a replay', () => {
  test('returns the first response as stored, without waiting', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const headers = { 'Idempotency-Key': randomUUID(), Prefer: 'wait=10' };
    const before = processors.noted.length;
    const first = load(port, headers);
    const attempt = await sentOf(before);
    const early = await load(port, headers);
    expect(early.body).toMatchObject({ status: 'pending', outcome: 'open' });
    expect([early.headers.get('Idempotent-Replayed'), early.headers.get('Money-Moved')]).toEqual(['true', 'unknown']);
    await answer(ledger, attempt, 'approved');
    expect((await first).body).toMatchObject({ status: 'completed' });
    const late = await load(port, headers);
    expect(late.body).toEqual(early.body);
    expect([late.headers.get('Money-Moved'), late.headers.get('Preference-Applied')]).toEqual(['unknown', null]);
  });
});

describe('the wait ends', () => {
  test('with the current transfer when the service stops', async () => {
    const { port, server: http } = await startHttpServer(ledgerGateway(ledger));
    const before = processors.noted.length;
    const reply = load(port, { Prefer: 'wait=10' });
    await answer(ledger, await sentOf(before), 'unknown');
    await http.close();
    const { status, headers, body } = await reply;
    expect([status, headers.get('Money-Moved'), headers.get('Preference-Applied')]).toEqual([
      201,
      'unknown',
      'wait=10',
    ]);
    expect(body).toMatchObject({ status: 'pending', outcome: 'unknown', error: null });
  });

  test('when the caller disconnects, and nothing is left waiting', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const before = processors.noted.length;
    const abort = new AbortController();
    const reply = fetch(`http://127.0.0.1:${port}/api/v0.1/core/transfer`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Prefer: 'wait=10' },
      body: JSON.stringify({ amount: 1000, card_id: 'card_processor' }),
      signal: abort.signal,
    });
    const attempt = await sentOf(before);
    while (processors.waiting === 0) await new Promise((resume) => setTimeout(resume, 1));
    abort.abort();
    await expect(reply).rejects.toThrow();
    while (processors.waiting > 0) await new Promise((resume) => setTimeout(resume, 1));
    await answer(ledger, attempt, 'approved');
  });

  test('with the transfer, not with an error that denies it, even if too many requests wait', async () => {
    const watchLimits = { ...WATCH_LIMITS, transfer: { perProgram: 2, inTotal: 4 } };
    const { port } = await serve(ledgerGateway(ledger), { settings: { watchLimits } });
    const before = processors.noted.length;
    const found: Sent[] = [];
    const replies = Array.from({ length: 5 }, async () => found.push(await load(port, { Prefer: 'wait=10' })));
    // Three callers learn immediately that their transfers exist. On a slow machine, the others may also know it by
    // then.
    await expect.poll(() => found.length).toBeGreaterThanOrEqual(3);
    await expect.poll(() => processors.noted.length - before).toBe(5);
    for (let at = before; at < before + 5; at += 1) await answer(ledger, await sentOf(at), 'approved');
    await Promise.all(replies);
    expect(found.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  });
});

describe('Sandbox-Processor', () => {
  test.each(['approve', 'decline=51', 'decline=65:3600', 'slow=2', 'late=0.5', 'not_found_then_found', '500'])(
    'stores %s for the simulator',
    async (behavior) => {
      const { port } = await serve(ledgerGateway(ledger));
      const { body } = await load(port, { 'Sandbox-Processor': behavior });
      expect(await attemptOf(ledger, body.transfer_id)).toMatchObject({ sandboxBehavior: behavior });
    },
  );

  test.each(['declined', 'decline', 'decline=', 'slow=1.2345', 'slow=86401', 'slow=-1', 'late=SECONDS'])(
    'refuses %s',
    async (behavior) => {
      const { port } = await serve(ledgerGateway(ledger));
      const { status, headers } = await load(port, { 'Sandbox-Processor': behavior });
      expect([status, headers.get('Error-Code')]).toEqual([400, 'create_transfer_schema']);
    },
  );

  test('is refused with a batch, and no row is executed', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const response = await fetch(`http://127.0.0.1:${port}/api/v0.1/core/transfer/batch`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Sandbox-Processor': 'decline=51' },
      body: JSON.stringify({ transfers: [{ idempotency_key: 'row-1', amount: 1000, card_id: 'card_processor' }] }),
    });
    expect([response.status, response.headers.get('Error-Code'), response.headers.get('Money-Moved')]).toEqual([
      400,
      'create_transfer_batch_schema',
      'no',
    ]);
    expect(await response.json()).toMatchObject({ Message: expect.stringContaining('Sandbox-Processor') });
  });

  test('is refused for a transfer that is sent later', async () => {
    const { port } = await serve(ledgerGateway(ledger));
    const scheduled_for = new Date(Date.now() + 86_400_000).toISOString();
    const { status, headers, body } = await load(port, { 'Sandbox-Processor': 'decline=51' }, { scheduled_for });
    expect([status, headers.get('Error-Code'), headers.get('Money-Moved')]).toEqual([
      400,
      'create_transfer_schema',
      'no',
    ]);
    expect(JSON.stringify(body)).toContain("'processor_token'");
  });

  test('is refused in live mode', async () => {
    const { port } = await serve(ledgerGateway(ledger, { mode: 'live' }));
    const { status, headers, body } = await load(port, { 'Sandbox-Processor': 'approve' });
    expect([status, headers.get('Error-Code'), headers.get('Money-Moved')]).toEqual([
      400,
      'create_transfer_schema',
      'no',
    ]);
    expect(JSON.stringify(body)).toContain('only in a sandbox');
  });
});
