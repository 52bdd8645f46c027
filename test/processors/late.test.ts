import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { expectBalancedBooks } from '../harness/service.ts';
import { Stage } from './stage.ts';
import { Trial, TYPES } from './trial.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.end());

/** Sends notices about two transfers that have already ended. */
async function say(trial: Trial, status: string, times: number): Promise<void> {
  for (const id of trial.transferIds) {
    for (let time = 0; time < times; time += 1) await stage.notify(id, status, `${status} ${time} ${id}`);
  }
  await untilHandled();
}

/** Waits without moving the clock, because otherwise an order on its way could arrive too late. */
async function untilShown(trial: Trial, status: string): Promise<void> {
  for (const id of trial.transferIds) {
    await waitFor(`${id} to be ${status}`, async () => (await stage.show(id)).status === status);
  }
}

async function untilHandled(): Promise<void> {
  const waiting = 'select from processor_notice where handled_at is null';
  await waitFor('the notices to be handled', async () => (await stage.query(waiting)).length === 0);
}

async function breaksOf(trial: Trial): Promise<readonly Record<string, unknown>[]> {
  const text = `select kind, expected, found from processor_break
    where 'tr_' || replace(transfer_id::text, '-', '') = any ($1) order by break_id`;
  return stage.query(text, [trial.transferIds]);
}

test('an approval after the failure causes one break and one posting, even if it is repeated', async () => {
  const trial = new Trial(stage, 'inquired_0');
  await trial.begin(() => ({ executes: false, reply: 'decline' }));
  await untilShown(trial, 'failed');
  for (const id of trial.transferIds) {
    stage.processor.execute(id);
  }
  await say(trial, 'approved', 3);
  const found = { kind: 'late_approval', expected: 'declined', found: 'approved' };
  expect(await breaksOf(trial)).toEqual([found, found]);
  for (const [index, id] of trial.transferIds.entries()) {
    const moved = stage.processor.moved(id);
    expect(moved).toBe(1000);
    expect(await stage.clearing(trial.cardIds[index] ?? '')).toBe(TYPES[index] === 'load' ? moved : -moved);
    expect((await stage.show(id)).status).toBe('failed');
  }
  await expectBalancedBooks(stage.service);
  for (const id of trial.transferIds) await expectSaid(id);
});

/** Checks that every place that shows a failed transfer's money says that the money has moved. */
async function expectSaid(transferId: string): Promise<void> {
  const { client } = stage.service;
  const [found = {}] = await stage.query(
    `select 'brk_' || replace(break_id::text, '-', '') as id, created_at from processor_break
      where 'tr_' || replace(transfer_id::text, '-', '') = $1`,
    [transferId],
  );
  const at = (found.created_at as Date).toISOString();
  const sentence = new RegExp(
    `^10\\.00 USD moved from .+ after all: .+ at ${at}, after the transfer had failed\\. .+ \\(break ${found.id}\\)\\.`,
  );

  const query = { type: 'transfer.late_approval', subject_id: transferId } as const;
  await waitFor('the position of the event', async () => (await client.events.list(query)).data.length > 0);
  const { money, steps, transfer } = await client.transfers.timeline(transferId);
  expect(money).toEqual({ moved: 'moved_late', sentence: expect.stringMatching(sentence) });
  const last = steps.filter(({ kind }) => kind === 'processor').at(-1);
  expect(last).toMatchObject({ at, text: expect.stringContaining(`(break ${found.id})`) });
  expect(steps.filter(({ event_type: type }) => type === 'transfer.late_approval')).toHaveLength(1);

  const request = await client.requests.get(transfer.request_id);
  expect(request).toMatchObject({ outcome: 'succeeded', money_moved: 'yes' });
  expect(request.summary.replace('create_transfer succeeded: ', '')).toMatch(sentence);

  const attempts = await client.transfers.attempts(transferId);
  expect(attempts.data).toMatchObject([{ status: 'declined', late_approval_at: at, break_id: found.id }]);

  const replayed = async (): Promise<string | null> => {
    const { type, card_id, amount, currency, idempotency_key: key } = transfer;
    const response = await fetch(`${stage.service.url}/api/v0.1/core/transfer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'Idempotency-Key': key ?? '' },
      body: JSON.stringify({ type, card_id, amount, currency }),
    });
    expect(response.headers.get('Idempotent-Replayed')).toBe('true');
    return response.headers.get('Money-Moved');
  };
  // The first response says unknown. Once that response is no longer stored, the replay shows the current transfer.
  expect(await replayed()).toBe('unknown');
  await stage.query("delete from event where subject_id = $1 and type = 'transfer.pending'", [transferId]);
  expect(await replayed()).toBe('yes');

  const opened = await client.cases.create({ transfer_id: transferId });
  expect(opened.money_moved).toBe('yes');

  // The transfer has its reference again, which was free while no money had moved.
  const reference = `late ${transferId}`;
  await stage.query("update transfer set reference = $1 where 'tr_' || replace(transfer_id::text, '-', '') = $2", [
    reference,
    transferId,
  ]);
  const { checks } = await client.transfers.explain({ amount: 5, card_id: 'card_active', reference });
  expect(checks.find(({ name }) => name === 'reference')?.code).toBe('duplicate_reference');

  await client.breaks.close(String(found.id), { note: 'Booked by hand.' });
  const after = await client.transfers.timeline(transferId);
  expect(after.money.sentence).toMatch(
    RegExp(` An operator of the service settled that at \\S+ \\(break ${found.id}\\)\\.`),
  );
  expect(after.steps.map(({ text }) => text).join('\n')).not.toContain('will settle this');
  const [ended] = (await client.transfers.attempts(transferId)).data;
  expect(ended?.late_approval_settled_at).not.toBeNull();
}

test('a decline after the approval causes a break and moves nothing', async () => {
  const trial = new Trial(stage, 'inquired_1');
  await trial.begin();
  await untilShown(trial, 'completed');
  await say(trial, 'declined', 2);
  const found = { kind: 'contradiction', expected: 'approved', found: 'declined' };
  expect(await breaksOf(trial)).toEqual([found, found]);
  await trial.check(['completed, executed 1']);
  for (const id of trial.transferIds) await expectContradicted(id);
});

/**
 * Checks that every place that shows the money says that the processor contradicts itself, until an operator settles
 * the break.
 */
async function expectContradicted(transferId: string): Promise<void> {
  const { client } = stage.service;
  const said = async () => {
    const { money, steps, transfer } = await client.transfers.timeline(transferId);
    const { money_moved: moved, summary } = await client.requests.get(transfer.request_id);
    const { data } = await client.transfers.attempts(transferId);
    expect(summary).toContain(money.sentence);
    return {
      moved: [money.moved, moved],
      sentence: money.sentence,
      steps: steps.map(({ text }) => text),
      attempt: data[0],
    };
  };
  const open = await said();
  const id = open.attempt?.break_id ?? '';
  expect(open.moved).toEqual(['unknown', 'unknown']);
  expect(open.sentence).toMatch(
    RegExp(
      `^10\\.00 USD moved from .+ But at \\S+ the processor 'inquired_1' said that it has declined the order\\. .+ \\(break ${id}\\)\\.`,
    ),
  );
  expect(open.steps).toContainEqual(
    expect.stringContaining(`which contradicts the recorded outcome. An operator of the service will settle this`),
  );
  expect(open.attempt).toMatchObject({ status: 'approved', contradiction: 'declined', contradiction_settled_at: null });
  expect((await client.cases.create({ transfer_id: transferId })).money_moved).toBe('unknown');

  await client.breaks.close(id, { note: 'Their decline was about a different order.' });
  const settled = await said();
  expect(settled.moved).toEqual(['yes', 'yes']);
  expect(settled.sentence).toMatch(RegExp(`, which an operator of the service settled at \\S+ \\(break ${id}\\)\\.$`));
  expect(settled.attempt?.contradiction_settled_at).not.toBeNull();
}

test('notices about unknown attempts cause one break for each attempt that they name', async () => {
  const send = (noticeId: string, attemptId: string) =>
    stage.query(
      `insert into processor_notice (connector_id, notice_id, body, received_at) values ('inquired_2', $1, $2, service_now())`,
      [noticeId, { attempt_id: attemptId, status: 'approved', amount: 5, currency: 'USD' }],
    );
  for (const notice of ['one', 'two', 'three']) await send(notice, 'theirs');
  await untilHandled();
  // A repeated notice does not reopen a closed break.
  await stage.query(
    "update processor_break set closed_at = now(), closed_by = 'key', resolution = '' where amount = 5",
  );
  for (const [notice, attempt] of [
    ['four', 'theirs'],
    ['five', 'another'],
  ] as const) {
    await send(notice, attempt);
  }
  await untilHandled();
  const about = "select expected, found from processor_break where kind = 'unknown_attempt' order by break_id";
  expect(await stage.query(about)).toEqual(
    ['theirs', 'another'].map((id) => ({ expected: 'no attempt', found: `approved for ${id}` })),
  );
});
