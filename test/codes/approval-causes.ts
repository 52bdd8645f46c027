import { randomUUID } from 'node:crypto';
import type { ApprovalRule } from '../../contract/approvals.ts';
import type { OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { APPROVABLE, type ApprovableId } from '../../domain/approvals/policy.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import { partsOf, toRaw } from '../fixtures/operations.ts';
import { thingsOf } from '../fixtures/service-things.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import {
  type Attempt,
  about,
  aboutNone,
  NO_ID,
  type RealCause,
  type Result,
  runRefused,
  withHeader,
} from './real-cause.ts';
import { sampleRequest } from './sample.ts';
import { type RequestSpec, send, toRequest } from './send.ts';
import type { World } from './world.ts';

/** Invalid bodies. `operation-causes.ts` also sends null for each required field of every operation. */
export const APPROVAL_BODIES = {
  approve_change: [{ reason: 1 }, { reason: 'x'.repeat(501) }],
  reject_change: [{ reason: '' }, { reason: 'x'.repeat(501) }],
  change_approval_policy: [
    { rules: {} },
    { rules: [{ operation: 'create_card' }] },
    { rules: [{ operation: 'create_withdrawal', over: 1 }] },
    { rules: [{ operation: 'create_withdrawal', currency: 'USD' }] },
    { rules: [{ operation: 'create_withdrawal', over: 1, currency: 'XXY' }] },
    { rules: [{ operation: 'create_withdrawal', above: 1 }] },
    { rules: [{ operation: 'close_break', over: 1, currency: 'USD' }] },
    { rules: [{ operation: 'create_withdrawal', scopes: ['operator'] }] },
    { rules: [{ operation: 'create_key', scopes: [] }] },
    { rules: [{ operation: 'create_key', fields: ['name'] }] },
    { rules: [{ operation: 'update_program', fields: ['currency'] }] },
    { expires_after_hours: 0 },
    { expires_after_hours: 721 },
  ],
} satisfies Partial<Readonly<Record<OperationId, readonly object[]>>>;

/** Creates a requester whose key has the name of the person in the samples. */
async function newMaker({ sandbox: { client } }: World): Promise<string> {
  return (await withSecret(client.keys.create(operatorKey('Tariq Haddad')))).key;
}

const by = (key: string, request: RequestSpec): RequestSpec =>
  withHeader(withHeader(request, 'Authorization', `Bearer ${key}`), 'Program-Id', DEMO_PROGRAM);

/** Runs a function under approval rules. A caller without a key can change the rules without an approval. */
async function withRules<Value>(
  { sandbox: { client } }: World,
  rules: readonly ApprovalRule[],
  run: () => Promise<Value>,
): Promise<Value> {
  await client.approvals.changePolicy({ rules: [...rules] });
  try {
    return await run();
  } finally {
    await client.approvals.changePolicy({ rules: [] });
  }
}

/** Sends a request that must wait for approval, and returns the id of the approval. */
async function ask({ sandbox }: World, request: RequestSpec): Promise<string> {
  const { status, body } = await send(sandbox.url, request);
  if (status !== 202) throw new Error(`${request.path} was answered with ${status}: ${body}`);
  return JSON.parse(body).approval_id;
}

/** Sends an operator's request that must wait for approval, and returns the id of the approval. */
function askFor(world: World, key: string, request: RequestSpec, operation: ApprovableId): Promise<string> {
  return withRules(world, [{ operation }], () => ask(world, by(key, request)));
}

const load = (amount: number): RequestSpec => ({
  ...about('create_transfer', '', { card_id: 'card_active', amount }).request,
  headers: [['Idempotency-Key', randomUUID()]],
});

/** Returns the sample request of a code, about this approval. */
function sampleAbout(code: SharedCode, approvalId: string): RequestSpec {
  const sample = sampleRequest(code);
  return { ...sample, path: sample.path.replace('{approval_id}', approvalId) };
}

async function runWithSample(
  world: World,
  code: SharedCode,
  [sample, ...others]: readonly Attempt[],
): Promise<readonly Result[]> {
  if (sample === undefined) throw new Error('there is no sample');
  const [first] = await runRefused(world, code, [sample]);
  const rest = await runRefused(world, code, others);
  return [...(first === undefined ? [] : [{ ...first, isSample: true }]), ...rest];
}

/** Sends each request that can need an approval a second time with a different key, while the first request is waiting. */
async function runPending(world: World): Promise<readonly Result[]> {
  const { client } = world.sandbox;
  const key = await newMaker(world);
  const requests: Attempt[] = [];
  for (const operation of APPROVABLE) {
    const { method = '', path = '', body } = toRaw(operation, await partsOf(operation, thingsOf(client)));
    requests.push({
      operation,
      request: toRequest({ method, path, headers: {}, ...(body && { body: JSON.stringify(body) }) }),
    });
  }
  const attempts = [
    { operation: 'create_withdrawal', request: sampleRequest('approval_pending') } as const,
    ...requests,
  ];
  const anew = (one: Attempt): Attempt => ({
    ...one,
    request: by(key, withNewKey(one.request)),
  });
  try {
    return await withRules(
      world,
      APPROVABLE.map((operation) => ({ operation })),
      async () => {
        for (const one of attempts) await ask(world, anew(one).request);
        return runWithSample(world, 'approval_pending', attempts.map(anew));
      },
    );
  } finally {
    for await (const { webhook_id } of client.operatorWebhooks.listAll())
      await client.operatorWebhooks.delete(webhook_id);
  }
}

function withNewKey({ headers = [], ...request }: RequestSpec): RequestSpec {
  const others = headers.filter(([name]) => name !== 'Idempotency-Key');
  return { ...request, headers: [...others, ['Idempotency-Key', randomUUID()]] };
}

/** Has the requester decide their own request. */
async function runOwn(world: World): Promise<readonly Result[]> {
  const key = await newMaker(world);
  const approvalId = await askFor(world, key, load(1_001), 'create_transfer');
  return runWithSample(
    world,
    'own_approval',
    [
      { operation: 'approve_change' as const, request: sampleAbout('own_approval', approvalId) },
      about('reject_change', approvalId, { reason: 'a mistake' }),
    ].map((one) => ({ ...one, request: by(key, one.request) })),
  );
}

/** Decides a request that was withdrawn. */
async function runEnded(world: World): Promise<readonly Result[]> {
  const key = await newMaker(world);
  const approvalId = await askFor(world, key, load(1_002), 'create_transfer');
  const withdrawn = await send(world.sandbox.url, by(key, about('withdraw_change', approvalId).request));
  if (withdrawn.status !== 200) throw new Error(`the request was not withdrawn: ${withdrawn.body}`);
  return runWithSample(world, 'invalid_approval_status', [
    { operation: 'reject_change', request: sampleAbout('invalid_approval_status', approvalId) },
    about('approve_change', approvalId, {}),
    about('withdraw_change', approvalId),
  ]);
}

/** Approves a transfer while transfers are disabled. */
async function runDisabled(world: World): Promise<readonly Result[]> {
  const { client } = world.sandbox;
  const approvalId = await askFor(world, await newMaker(world), load(1_003), 'create_transfer');
  await client.switch.change({ disabled: true, reason: 'a test' });
  try {
    return await runRefused(world, 'service_disabled', [about('approve_change', approvalId, {})]);
  } finally {
    await client.switch.change({ disabled: false });
  }
}

export const DISABLED_APPROVAL: RealCause = { run: runDisabled };

export const APPROVAL_CAUSES = {
  approval_not_found: aboutNone('approval_not_found', 'approval_id', `apr_${NO_ID}`, 'apr_missing'),
  approval_pending: { run: runPending },
  own_approval: { run: runOwn },
  invalid_approval_status: { run: runEnded },
} as const satisfies Partial<Record<SharedCode, RealCause>>;
