import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { type CodePlace, pythonOf, typescriptOf } from '../../contract/clients/example-code.ts';
import { curlOf, exampleOf, exampleReply } from '../../contract/examples.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { EXAMPLE_CASE_ID, EXAMPLE_EVENT_ID, sampleOfParameter } from '../../contract/samples.ts';
import { partsOf, rowOf } from '../fixtures/operations.ts';
import { thingsOf } from '../fixtures/service-things.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import { useDirectory, useOwnService } from '../harness/service.ts';

const run = promisify(execFile);
const SDK = join(import.meta.dirname, '../../sdk/client.ts');
const CHANGES = 'Its examples move the clock, and change the cards and the switch.';

const { path } = await useDirectory();

/**
 * Operations whose examples this test cannot run. delete_session needs a session's cookie, which only browsers have.
 * Notices are signed with a secret from the settings.
 */
const NOT_RUN: readonly OperationId[] = ['delete_session', 'receive_notice'];
const RUN = OPERATION_IDS.filter((id) => !NOT_RUN.includes(id));

/** Runs the text of an example, and returns its output. */
type Runner = (text: string, environment: NodeJS.ProcessEnv, context: TestContext) => Promise<string>;

/** Runs the example of an operation with existing ids and a new idempotency key. */
async function runExample(
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

describe('the API reference has a working curl example of', () => {
  const service = useOwnService(CHANGES);
  const write = (id: OperationId, { base, needsKey }: CodePlace) => curlOf(exampleOf(id), base, '', needsKey);
  const shell: Runner = async (text, env) => {
    const { stdout } = await run('sh', ['-c', text.replace(/^curl /, 'curl -sS --fail-with-body ')], { env });
    return stdout;
  };

  test.for(RUN)('%s', async (id, context) => {
    const printed = await runExample(service, id, write, shell, context);
    if (OPERATIONS[id].csv) return;
    const reply: unknown = JSON.parse(printed);
    const shown: object = Object(exampleReply(id));
    expect(Object.keys(Object(reply)).toSorted()).toEqual(Object.keys(shown).toSorted());
    if (OPERATIONS[id].status === 201) expect(Object(reply)).toMatchObject(ofRequest(id, shown));
  });

  /** Returns the fields of the example response that depend on the example request. */
  function ofRequest(id: OperationId, shown: object): object {
    const sent: object = JSON.parse(exampleOf(id).body ?? '{}');
    const names = [...Object.keys(sent), 'metadata', 'description', 'reference', 'status', 'type'];
    return Object.fromEntries(Object.entries(shown).filter(([name]) => names.includes(name)));
  }
});

describe('the API reference has a working TypeScript example of', () => {
  const service = useOwnService(CHANGES);

  /** Installs the SDK in the folder from its sources. */
  beforeAll(() => {
    const installed = join(path, 'node_modules/@transfer-service/sdk');
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, 'package.json'), '{"type": "module", "exports": "./client.js"}');
    writeFileSync(join(installed, 'client.js'), `export * from ${JSON.stringify(SDK)};\n`);
    writeFileSync(join(path, 'package.json'), '{"type": "module"}');
  });

  const node: Runner = async (text, env) => {
    const file = join(path, `${randomUUID()}.ts`);
    writeFileSync(file, text);
    return (await run(process.execPath, [file], { env })).stdout;
  };

  test.for(RUN)('%s', async (id, context) => {
    expect(await runExample(service, id, typescriptOf, node, context)).not.toBe('');
  });
});

describe('the API reference has a working Python example of', () => {
  const service = useOwnService(CHANGES);
  let python: Promise<string | undefined> | undefined;

  /** Finds the first Python with the package `requests`, because the first Python in the path may lack it. */
  async function findPython(): Promise<string | undefined> {
    for (const program of ['python3', '/usr/bin/python3']) {
      const has = await run(program, ['-c', 'import requests']).then(
        () => true,
        () => false,
      );
      if (has) return program;
    }
    return undefined;
  }

  const interpreter: Runner = async (text, env, context) => {
    python ??= findPython();
    const program = await python;
    if (program === undefined) {
      const notRun = 'no Python has the package requests (Debian: python3-requests)';
      Object.assign(context.task.meta, { notRun });
      return context.skip(notRun);
    }
    return (await run(program, ['-c', text], { env })).stdout;
  };

  test.for(RUN)('%s', async (id, context) => {
    expect(await runExample(service, id, pythonOf, interpreter, context)).not.toBe('');
  });
});
