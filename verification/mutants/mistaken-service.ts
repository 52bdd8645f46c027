import { join } from 'node:path';
import type { Resources } from '../../bench/resources.ts';
import { applyMutant, copySource } from './copy.ts';
import { MUTANTS } from './mutants.ts';

/**
 * Copies the source, applies a mutant, and returns the path of the service's program. A checker that accepts this service
 * does not work.
 */
export async function copyWithMistake(resources: Resources, name: string): Promise<string> {
  const mistake = MUTANTS.find((mutant) => mutant.name === name);
  if (mistake === undefined) throw new Error(`there is no mutant ${name}`);
  const copy = await copySource();
  resources.add('the copy with a mistake', copy.remove);
  await applyMutant(copy.path, mistake);
  return join(copy.path, 'server/main.ts');
}
