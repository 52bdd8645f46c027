import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { goOf } from '../../contract/clients/example-code.ts';
import { useDirectory, useOwnService } from '../harness/service.ts';
import { CHANGES, RUN, type Runner, runExample } from './run-example.ts';

const run = promisify(execFile);
const { path } = await useDirectory();

describe('the API reference has a working Go example of', () => {
  const service = useOwnService(CHANGES);
  let hasGo: Promise<boolean> | undefined;

  // Go keeps the compiled standard library in its cache, so only the first program takes long.
  const go: Runner = async (text, env, context) => {
    hasGo ??= run('go', ['version']).then(
      () => true,
      () => false,
    );
    if (!(await hasGo)) {
      const notRun = 'Go is not installed (Debian: golang-go)';
      Object.assign(context.task.meta, { notRun });
      return context.skip(notRun);
    }
    const file = join(path, `${randomUUID()}.go`);
    writeFileSync(file, `${text}\n`);
    const unformatted = await run('gofmt', ['-l', file], { env });
    expect(unformatted.stdout).toBe('');
    return (await run('go', ['run', file], { env: { GOCACHE: join(path, 'go-cache'), ...env } })).stdout;
  };

  test.for(RUN)('%s', { timeout: 120_000 }, async (id, context) => {
    expect(await runExample(service, id, goOf, go, context)).not.toBe('');
  });
});
