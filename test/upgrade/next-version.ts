import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Migration } from '../../server/store/migrations/migration-files.ts';
import { copySource } from '../../verification/mutants/copy.ts';
import { type Ending, runToEnd } from '../harness/process.ts';

/** A version of the service with more migrations than the checkout. */
export type NextVersion = {
  readonly main: string;
  /** The version's entry point for host commands, such as `migrate`. */
  readonly administration: string;
  readonly migrate: (settings: Readonly<Record<string, string>>) => Promise<Ending>;
};

/** Copies the source and adds migrations to it. The copy is removed after the file's tests. */
export async function useNextVersion(...planted: readonly Migration[]): Promise<NextVersion> {
  const { path, remove } = await copySource();
  afterAll(remove);
  for (const { name, text } of planted) await writeFile(join(path, 'server/store/migrations', name), text);
  const administration = join(path, 'server/host/administration.ts');
  return {
    main: join(path, 'server/main.ts'),
    administration,
    migrate: (settings) => runToEnd([administration, 'migrate'], settings),
  };
}
