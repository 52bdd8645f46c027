import { randomUUID } from 'node:crypto';
import type { TestContext } from 'vitest';
import type { CodePlace } from '../../contract/clients/example-code.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { EXAMPLE_CASE_ID, EXAMPLE_EVENT_ID, sampleOfParameter } from '../../contract/samples.ts';
import { partsOf, rowOf } from '../fixtures/operations.ts';
import { thingsOf } from '../fixtures/service-things.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import type { useOwnService } from '../harness/service.ts';

export const CHANGES = 'Its examples move the clock, and change the cards and the switch.';

/**
 * Operations whose examples the tests cannot run. delete_session needs a session's cookie, which only browsers have.
 * Notices are signed with a secret from the settings.
 */
const NOT_RUN: readonly OperationId[] = ['delete_session', 'receive_notice'];
export const RUN = OPERATION_IDS.filter((id) => !NOT_RUN.includes(id));

/** Runs the text of an example, and returns its output. */
export type Runner = (text: string, environment: NodeJS.ProcessEnv, context: TestContext) => Promise<string>;

/** Runs the example of an operation with existing ids and a new idempotency key. */
export async function runExample(
  service: ReturnType<typeof useOwnService>,
  id: OperationId,
  write: (id: OperationId, place: CodePlace) => string,
  runner: Runner,
  context: TestContext,
): Promise<string> {
  const { client, url } = service();
  const things = thingsOf(client);
  const { params } = await partsOf(id, things);
  const needsKey = rowOf(id).caller === 'key';
  const key = needsKey ? (await withSecret(client.keys.create(operatorKey('of an example')))).key : undefined;
  const example = write(id, { base: url, needsKey });
  const ofPath = parametersOf(OPERATIONS[id].path).map(
    (name) => [sampleOfParameter(name), params[name] ?? ''] as const,
  );
  const ofBody = example.includes(EXAMPLE_EVENT_ID) ? [[EXAMPLE_EVENT_ID, await things.event()] as const] : [];
  const ofCases = id === 'attach_cases' ? [[EXAMPLE_CASE_ID, await things.case()] as const] : [];
  const own = [[`example-${id.replaceAll('_', '-')}`, randomUUID()] as const];
  const text = [...ofPath, ...ofBody, ...ofCases, ...own].reduce(
    (left, [from, to]) => left.replaceAll(from, to),
    example,
  );
  try {
    return await runner(text, { ...process.env, TRANSFER_SERVICE_KEY: key }, context);
  } finally {
    if (id === 'stop_database') await client.sandbox.startDatabase();
    if (id === 'change_switch') await client.switch.change({ disabled: false });
  }
}
