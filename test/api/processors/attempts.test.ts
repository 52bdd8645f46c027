import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { OperatorAttemptRecord } from '../../../contract/processors/attempts.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { ATTEMPT_STATUSES, type AttemptStatus } from '../../../domain/processors/attempt.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { searchAttempts, toAttemptChunk } from '../../../server/store/processors/read-attempts.ts';
import { answered, attemptOf, report, SilentProcessors, stepFor } from '../../fixtures/processors.ts';
import { ledgerGateway, startHttpServer } from '../../harness/http-server.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

// These tests insert the attempts. The tests in test/processors produce them with a processor.
const server = await useServer();
const processors = new SilentProcessors();
const ledger = useLedger(server.connection, undefined, undefined, undefined, processors);
const client = await useConnection(server.connection);
const http = await startHttpServer(ledgerGateway(ledger));
afterAll(() => http.server.close());
const url = `http://127.0.0.1:${http.port}`;

checkBalances(ledger);

type Fields = Readonly<Record<string, unknown>>;

async function ask(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
  const { status, fields, headers: received } = await sendRaw(url, { method, path, body, headers });
  return { status, fields, code: fields.Code, moved: received['money-moved'] };
}

/** Creates a transfer that waits for the processor, with an attempt in this status. */
async function waiting(status: AttemptStatus = 'unknown', type: 'load' | 'unload' = 'load') {
  const card = { connector_id: 'simulator', processor_token: 'sim_approve', card_id: `card-${randomUUID()}` };
  await ledger.call('create_card', card);
  const made = await ledger.call('create_transfer', { amount: 1000, card_id: card.card_id, type });
  const transferId = String(JSON.parse(made.body).transfer_id);
  const { attemptId } = await attemptOf(ledger, transferId);
  const isUnknown = ['unknown', 'reversing', 'attention'].includes(status);
  await client.query(
    `update processor_attempt set status = $2, tries = 1, sent_at = now(), not_after = now(), next_at = null,
        unknown_since = $3, detail = $4
      where attempt_id = $1`,
    [attemptId, status, ...(isUnknown ? [new Date(), 'No answer within 10 s.'] : [null, null])],
  );
  return { transferId, attemptId: toWireId('pat', attemptId), cardId: card.card_id };
}

/** A note in which an operator included secrets by mistake, and its stored form. */
const NOTE = `Their ticket 4711. ts_test_${'a1'.repeat(24)} password=hunter2`;
const STORED_NOTE = 'Their ticket 4711. [redacted] password=[redacted]';

const resolve = (attemptId: string, outcome: string, headers?: Readonly<Record<string, string>>) =>
  ask('POST', `/api/v0.1/operator/attempt/${attemptId}/resolve`, { outcome, note: NOTE }, headers);

const transferOf = async (transferId: string): Promise<Fields> =>
  (await ask('GET', `/api/v0.1/core/transfer/${transferId}`)).fields;

async function auditOf(attemptId: string): Promise<readonly Fields[]> {
  const { rows } = await client.query(
    'select actor, action, details::json from audit_entry where subject_id = $1 order by position',
    [attemptId],
  );
  return rows;
}

describe('list_attempts', () => {
  test("shows the processor's responses about a transfer", async () => {
    const { transferId, attemptId, cardId } = await waiting('attention');
    const { status, fields } = await ask('GET', `/api/v0.1/core/transfer/${transferId}/attempt`);
    expect(status).toBe(200);
    expect(fields.data).toEqual([
      {
        attempt_id: attemptId,
        transfer_id: transferId,
        card_id: cardId,
        connector_id: 'simulator',
        kind: 'push',
        amount: 1000,
        currency: 'USD',
        status: 'attention',
        tries: 1,
        sent_at: expect.any(String),
        unknown_since: expect.any(String),
        next_at: null,
        processor_reference: null,
        code: null,
        retry_after_seconds: null,
        resolved_by: null,
        late_approval_at: null,
        late_approval_settled_at: null,
        contradicted_at: null,
        contradiction: null,
        contradiction_settled_at: null,
        break_id: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
  });

  test('is empty for a transfer without a processor', async () => {
    const { fields } = await ask('POST', '/api/v0.1/core/transfer', { amount: 5, card_id: 'card_active' });
    expect(await ask('GET', `/api/v0.1/core/transfer/${fields.transfer_id}/attempt`)).toMatchObject({
      status: 200,
      fields: { data: [] },
    });
  });

  test.each(['tr_0', toWireId('tr', randomUUID())])('refuses the transfer %s', async (id) => {
    expect((await ask('GET', `/api/v0.1/core/transfer/${id}/attempt`)).code).toBe('transfer_not_found');
  });

  test('refuses a transfer of another program as if it were missing', async () => {
    const { transferId } = await waiting();
    const { fields } = await ask('POST', '/api/v0.1/operator/program', { name: 'Other', currency: 'USD' });
    const other = { 'Program-Id': String(fields.program_id) };
    const answer = await ask('GET', `/api/v0.1/core/transfer/${transferId}/attempt`, undefined, other);
    expect(answer.code).toBe('transfer_not_found');
  });
});

describe('search_attempts', () => {
  const idsOf = ({ fields }: { readonly fields: Fields }): readonly string[] =>
    (fields.data as readonly OperatorAttemptRecord[]).map((one) => one.attempt_id);
  const search = (query: string) => ask('GET', `/api/v0.1/operator/attempt?${query}`);

  test('lists unsettled attempts page by page, oldest first', async () => {
    const made = [await waiting('unknown'), await waiting('pending'), await waiting('attention')];
    const mine = new Set(made.map(({ attemptId }) => attemptId));
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await search(`limit=2${cursor}`);
      found.push(...idsOf(page));
      if (page.fields.next_cursor === null) break;
      cursor = `&cursor=${page.fields.next_cursor}`;
    }
    expect(found.filter((id) => mine.has(id))).toEqual([...mine]);
    expect(found).toEqual([...found].sort());
  });

  test.each(ATTEMPT_STATUSES)('lists attempts with the status %s', async (status) => {
    const { attemptId, transferId } = await waiting('unknown');
    // Changes only the attempt, so that the books stay balanced.
    await client.query('update processor_attempt set status = $2 where attempt_id = $1', [inner(attemptId), status]);
    const { fields } = await search(`status=${status}&connector_id=simulator&limit=100`);
    const data = fields.data as readonly OperatorAttemptRecord[];
    expect(data.map((one) => one.status)).toEqual(data.map(() => status));
    expect(data.find((one) => one.attempt_id === attemptId)).toMatchObject({
      transfer_id: transferId,
      program_id: expect.stringMatching(/^prog_/),
      age_seconds: expect.any(Number),
      detail: 'No answer within 10 s.',
      resolved_by: null,
    });
    const hasEnded = ['approved', 'declined', 'failed', 'reversed'].includes(status);
    const ids = data.map((one) => one.attempt_id);
    expect(ids).toEqual(hasEnded ? ids.toSorted().reverse() : ids.toSorted());
    expect(idsOf(await search('limit=100')).includes(attemptId)).toBe(!hasEnded);
    await client.query('update processor_attempt set status = $2 where attempt_id = $1', [inner(attemptId), 'unknown']);
  });

  test('examines a bounded number of settled attempts for each page, and returns where to continue', async () => {
    const made = [await waiting('unknown'), await waiting('unknown'), await waiting('unknown')];
    const ids = made.map(({ attemptId }) => inner(attemptId));
    const set = (status: string, connectorId: string) =>
      client.query('update processor_attempt set status = $2, connector_id = $3 where attempt_id = any ($1)', [
        ids,
        status,
        connectorId,
      ]);
    const filters = [
      { connectorId: 'simulator', programId: null },
      { connectorId: 'simulator', programId: DEMO_PROGRAM_ID },
      { connectorId: null, programId: DEMO_PROGRAM_ID },
    ];
    for (const status of ['approved', 'declined'] as const) {
      await set(status, 'rare');
      await client.query("update processor_attempt set connector_id = 'simulator' where attempt_id = $1", [ids[0]]);
      for (const filter of filters) {
        const found: string[] = [];
        let next: string | null = LAST_ID;
        while (next !== null && !found.includes(ids[0] ?? '')) {
          const chunk = { after: next, count: 10, maxExamined: 1 };
          const { text, values } = searchAttempts({ status, ...filter }, chunk);
          const part = toAttemptChunk((await client.query(text, [...values])).rows, chunk);
          expect(part.items.length).toBeLessThanOrEqual(1);
          found.push(...part.items.map(({ attempt }) => attempt.attemptId));
          next = part.next;
        }
        expect(found.filter((id) => ids.includes(id))).toEqual(
          filter.connectorId === null ? ids.toReversed() : [ids[0]],
        );
      }
      expect(idsOf(await search(`status=${status}&connector_id=rare&limit=2`))).toHaveLength(2);
    }
    await set('unknown', 'simulator');
  });

  test('filters by connector and card program', async () => {
    await waiting('unknown');
    const { fields } = await ask('POST', '/api/v0.1/operator/program', { name: 'Other', currency: 'USD' });
    expect(idsOf(await search(`program_id=${fields.program_id}`))).toEqual([]);
    expect(idsOf(await search('connector_id=another'))).toEqual([]);
    expect((await search('program_id=x')).code).toBe('search_attempts_schema');
    expect((await search('status=lost')).code).toBe('search_attempts_schema');
  });
});

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const inner = (attemptId: string): string => fromWireId('pat', attemptId) ?? '';

describe('resolve_attempt', () => {
  const RESOLVABLE: readonly AttemptStatus[] = ['unknown', 'pending', 'reversing', 'attention'];

  test.each(RESOLVABLE.flatMap((status) => (['load', 'unload'] as const).map((type) => [status, type] as const)))(
    'completes the transfer of an executed attempt: %s, %s',
    async (status, type) => {
      const { transferId, attemptId } = await waiting(status, type);
      const { status: answered200, fields, moved } = await resolve(attemptId, 'executed');
      expect([answered200, moved]).toEqual([200, 'yes']);
      expect(fields).toMatchObject({
        attempt_id: attemptId,
        status: 'approved',
        next_at: null,
        unknown_since: null,
        resolved_by: 'sandbox',
        detail: STORED_NOTE,
      });
      expect(await transferOf(transferId)).toMatchObject({ status: 'completed', captured_amount: 1000, error: null });
      // The timeline is for card programs, so it must not show the note.
      const { fields: timeline } = await ask('GET', `/api/v0.1/core/transfer/${transferId}/timeline`);
      expect(JSON.stringify(timeline)).not.toContain('ticket 4711');
      expect(await auditOf(attemptId)).toEqual([
        {
          actor: 'sandbox',
          action: 'resolve_attempt',
          details: expect.objectContaining({
            transfer_id: transferId,
            status: 'completed',
            omitted: ['note'],
          }),
        },
      ]);
    },
  );

  test.each(RESOLVABLE)('fails the transfer of an attempt that was not executed: %s', async (status) => {
    const { transferId, attemptId } = await waiting(status);
    const { status: answered200, fields, moved } = await resolve(attemptId, 'not_executed');
    expect([answered200, moved]).toEqual([200, 'no']);
    // An attempt that is being reversed may have been executed before, and its approval may still arrive. So it does
    // not end as `failed`.
    const ended = status === 'reversing' ? 'reversed' : 'failed';
    expect(fields).toMatchObject({ status: ended, resolved_by: 'sandbox' });
    expect(await transferOf(transferId)).toMatchObject({
      status: 'failed',
      captured_amount: 0,
      error: { Code: 'processor_error', Type: 'Process Error' },
    });
    expect(await auditOf(attemptId)).toHaveLength(1);
  });

  test.each([
    ['executed', 'yes'],
    ['not_executed', 'no'],
  ])('changes nothing when an attempt is resolved as %s a second time', async (outcome, moneyMoved) => {
    const { attemptId } = await waiting();
    const first = await resolve(attemptId, outcome);
    const second = await resolve(attemptId, outcome);
    const { age_seconds: _, ...same } = first.fields;
    expect(second).toMatchObject({ status: 200, moved: moneyMoved, fields: same });
    expect(await auditOf(attemptId)).toHaveLength(1);
  });

  test('ends an attempt once if several operators resolve it at the same time', async () => {
    const { attemptId, transferId } = await waiting();
    const outcomes = ['executed', 'not_executed', 'executed', 'not_executed'] as const;
    const answers = await Promise.all(outcomes.map((outcome) => resolve(attemptId, outcome)));
    const [winner] = answers.filter(({ status }) => status === 200);
    for (const [at, answer] of answers.entries()) {
      const isSame = (winner?.fields.status === 'approved') === (outcomes[at] === 'executed');
      expect(answer).toMatchObject(isSame ? { status: 200 } : { status: 409, code: 'invalid_attempt_status' });
    }
    expect(await auditOf(attemptId)).toHaveLength(1);
    const { status } = await transferOf(transferId);
    expect(status).toBe(winner?.fields.status === 'approved' ? 'completed' : 'failed');
  });

  test.each([
    ['executed', 'not_executed', 'has been approved and cannot be resolved as not executed'],
    ['not_executed', 'executed', 'has failed and cannot be resolved as executed'],
  ])('once an attempt has been resolved as %s, refuses to resolve it as %s', async (first, second, says) => {
    const { attemptId } = await waiting();
    await resolve(attemptId, first);
    const { code, moved, fields } = await resolve(attemptId, second);
    expect([code, moved]).toEqual(['invalid_attempt_status', 'no']);
    expect(fields.Message).toContain(says);
    expect(await auditOf(attemptId)).toHaveLength(1);
  });

  test('refuses to change the outcome that a processor reported', async () => {
    const { transferId, attemptId } = await waiting('pending');
    const attempt = await attemptOf(ledger, transferId);
    await report(ledger, attempt, stepFor(attempt, 'inquire', answered('approved')));
    expect((await resolve(attemptId, 'not_executed')).code).toBe('invalid_attempt_status');
    expect(await resolve(attemptId, 'executed')).toMatchObject({ status: 200, fields: { resolved_by: null } });
    expect(await auditOf(attemptId)).toEqual([]);
  });

  test.each(['ready', 'sent'] as const)(
    'refuses an attempt that is %s, because its response can still arrive',
    async (status) => {
      const { transferId, attemptId } = await waiting(status);
      expect(await resolve(attemptId, 'executed')).toMatchObject({ code: 'invalid_attempt_status', moved: 'no' });
      expect(await transferOf(transferId)).toMatchObject({ status: 'pending' });
    },
  );

  test.each(['pat_0', toWireId('pat', randomUUID())])('refuses the missing attempt %s', async (id) => {
    expect(await resolve(id, 'executed')).toMatchObject({ status: 404, code: 'attempt_not_found', moved: 'no' });
  });

  test('requires a key that may move funding', async () => {
    const { attemptId } = await waiting();
    const { fields } = await ask('POST', '/api/v0.1/operator/key', {
      name: 'reader',
      all_programs: true,
      scopes: ['operator:read', 'transfers:write'],
    });
    const refused = await resolve(attemptId, 'executed', { Authorization: `Bearer ${fields.key}` });
    expect(refused).toMatchObject({ status: 403, moved: 'no' });
  });
});
