import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { type CodePlace, pythonOf, typescriptOf } from '../../contract/clients/example-code.ts';
import { curlOf, exampleOf, exampleReply } from '../../contract/examples.ts';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { useDirectory, useOwnService } from '../harness/service.ts';
import { CHANGES, RUN, type Runner, runExample } from './run-example.ts';

const run = promisify(execFile);
const SDK = join(import.meta.dirname, '../../sdk/client.ts');

const { path } = await useDirectory();

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
