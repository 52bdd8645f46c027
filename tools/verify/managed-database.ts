import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Resources } from '../../bench/resources.ts';
import { commandsOf } from './guide-commands.ts';
import { DEBIAN_POSTGRES, reportMissing } from './reports.ts';

const GUIDE = 'docs/managed-postgresql.md';

/** Follows the guide with the database of a distribution, whose user owns nothing but its database. */
export async function followManaged(resources: Resources): Promise<void> {
  if (!existsSync(join(DEBIAN_POSTGRES, 'initdb')) || spawnSync('psql', ['--version']).status !== 0)
    return reportMissing(`${GUIDE} was not followed: it needs PostgreSQL 15 and psql (apt-get install postgresql-15).`);
  const { runCommand, startService, temporaryDirectory } = await import('../../test/harness/process.ts');
  const { stockPostgresIn } = await import('../../test/harness/postgres/stock-postgres.ts');
  const { path, remove } = await temporaryDirectory();
  resources.add('the database', remove);
  const { url: DATABASE_URL } = await stockPostgresIn(path, DEBIAN_POSTGRES);
  const settings: Record<string, string> = { DATABASE_URL, DATA_DIR: join(path, 'data'), LOG_LEVEL: 'silent' };
  const run = async (command: string): Promise<string | undefined> => {
    if (command === 'npx transfer-service start') {
      const service = await startService(settings);
      settings.PORT = new URL(service.url).port;
      resources.add('the service', async () => void (await service.stop()));
      return undefined;
    }
    if (command.startsWith('npx transfer-service ')) {
      const { exitCode, output, errors } = await runCommand(command.split(' ').slice(2), settings);
      return exitCode === 0 ? undefined : output + errors;
    }
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL };
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8' });
    return status === 0 ? undefined : stdout + stderr;
  };
  for (const { line, command } of commandsOf(GUIDE)) {
    const problem = await run(command);
    if (problem !== undefined) throw new Error(`${GUIDE}, line ${line}: ${command}\n${problem}`);
    console.log(`ok      ${GUIDE}, line ${line}: ${command}`);
  }
}
