import { randomUUID } from 'node:crypto';
import type { OperationId } from '../../contract/operations.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import { MAX_CASE_MESSAGES } from '../../domain/support/case.ts';
import type { TransferService } from '../../sdk/client.ts';
import {
  type Attempt,
  about,
  aboutNone,
  atField,
  byPrepared,
  byRequests,
  NO_ID,
  type RealCause,
  type Result,
  runAll,
  runRefused,
  together,
  withMembers,
} from './real-cause.ts';
import { sampleRequest } from './sample.ts';
import type { World } from './world.ts';

const NO_CASE = `case_${NO_ID}`;
const MESSAGE = { text: 'Where is it?' } as const;
const END = { text: 'Done.', outcome: 'nothing' } as const;

/** Invalid bodies. `operation-causes.ts` also sends null for each required field of every operation. */
export const SUPPORT_BODIES = {
  create_case: [
    { text: undefined },
    { text: '' },
    { text: 'x'.repeat(4001) },
    { severity: 'urgent' },
    { request_id: `req_${NO_ID}`, transfer_id: `tr_${NO_ID}` },
  ],
  reply_to_case: [{ text: 1 }, { external_id: 1 }],
  answer_case: [{ text: 'x'.repeat(4001) }, { external_author: 1 }],
  resolve_case: [{ outcome: 'luck' }],
  answer_sandbox_case: [{ outcome: 'luck' }, { text: 1 }],
  create_incident: [
    { scope: 'program' },
    { scope: 'operation' },
    { program_id: `prog_${NO_ID}` },
    { operation: 'create_transfer' },
    { scope: 'operation', operation: 'nothing' },
    { codes: ['nothing'] },
    { codes: '' },
    { started_at: '2100-01-01T00:00:00Z' },
    { private_text: 'x' },
  ],
  update_incident: [{ title: null }, { codes: ['nothing'] }],
  attach_cases: [{ case_ids: [] }, { case_ids: 'case_1' }],
  resolve_incident: [{ outcome: 'luck' }],
} satisfies Partial<Readonly<Record<OperationId, readonly object[]>>>;

const newCase = async (client: TransferService): Promise<string> => (await client.cases.create(MESSAGE)).case_id;

const newIncident = async (client: TransferService): Promise<string> => {
  const body = { title: 'x', public_text: 'x', scope: 'operation', operation: 'verify_audit' } as const;
  return (await client.incidents.create(body)).incident_id;
};

/** Returns requests that add a message as the customer, as support, and as support in a sandbox. */
const written = (id: string, members: object = MESSAGE): readonly Attempt[] =>
  // Each request needs a new key, because a refusal is stored under its key.
  (['reply_to_case', 'answer_case', 'answer_sandbox_case'] as const).map((operation) =>
    about(operation, id, members, { 'Idempotency-Key': randomUUID() }),
  );

async function attemptsOnClosed(client: TransferService): Promise<readonly Attempt[]> {
  const [id, incident] = [await newCase(client), await newIncident(client)];
  await client.cases.close(id);
  const attached = atField('/case_ids/0', about('attach_cases', incident, { case_ids: [id] }));
  return [...written(id), about('close_case', id), about('resolve_case', id, END), attached];
}

async function attemptsOnResolved(client: TransferService): Promise<readonly Attempt[]> {
  const id = await newIncident(client);
  await client.incidents.resolve(id, END);
  const attached = about('attach_cases', id, { case_ids: [NO_CASE] });
  return [about('update_incident', id, { title: 'y' }), about('resolve_incident', id, END), attached];
}

/** A case with the maximum number of messages. */
async function runFull(world: World): Promise<readonly Result[]> {
  const { url, client } = world.sandbox;
  const id = await newCase(client);
  for (let count = 0; count < MAX_CASE_MESSAGES; count += 1) await client.cases.reply(id, MESSAGE);
  const sample = sampleRequest('case_message_limit');
  const request = { ...sample, path: sample.path.replace('{case_id}', id) };
  const results = await runAll(url, 'case_message_limit', [{ operation: 'reply_to_case', request }]);
  return [
    ...results.map((one) => ({ ...one, isSample: true })),
    ...(await runRefused(world, 'case_message_limit', written(id))),
  ];
}

export const SUPPORT_CAUSES = {
  case_not_found: together(
    aboutNone('case_not_found', 'case_id', NO_CASE, 'case_missing'),
    byPrepared('case_not_found', async (client) => {
      const incident = await newIncident(client);
      return [NO_CASE, 'case_missing'].map((id) =>
        atField('/case_ids/0', about('attach_cases', incident, { case_ids: [id] })),
      );
    }),
  ),
  invalid_case_status: byPrepared('invalid_case_status', attemptsOnClosed),
  case_message_limit: { run: runFull },
  duplicate_external_id: byPrepared('duplicate_external_id', async (client) => {
    const id = await newCase(client);
    await client.cases.reply(id, { text: 'One.', external_id: '1' });
    const again = { text: 'Two.', external_id: '1' };
    return (['reply_to_case', 'answer_case'] as const).map((operation) =>
      atField('/external_id', about(operation, id, again)),
    );
  }),
  incident_not_found: together(
    aboutNone('incident_not_found', 'incident_id', `inc_${NO_ID}`, 'inc_missing'),
    byPrepared('incident_not_found', async (client) => [
      about('attach_cases', `inc_${NO_ID}`, { case_ids: [await newCase(client)] }),
    ]),
  ),
  invalid_incident_status: byPrepared('invalid_incident_status', attemptsOnResolved),
} as const satisfies Partial<Record<SharedCode, RealCause>>;

/** A case about a request or a transfer that does not exist. */
export const CASE_ABOUT_NO_REQUEST = byRequests('request_not_found', [
  withMembers('create_case', { request_id: `req_${NO_ID}` }),
  withMembers('create_case', { request_id: 'req_missing' }),
]);
export const CASE_ABOUT_NO_TRANSFER = byRequests('transfer_not_found', [
  withMembers('create_case', { transfer_id: `tr_${NO_ID}` }),
  withMembers('create_case', { transfer_id: 'tr_missing' }),
]);
