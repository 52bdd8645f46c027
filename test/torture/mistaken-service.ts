import { join } from 'node:path';
import type { Resources } from '../../bench/resources.ts';
import { applyMutant, copySource } from '../mutants/copy.ts';
import { MUTANTS } from '../mutants/mutants.ts';

/**
 * Copies the source with one of the seeded mistakes in it, and gives the program of that service: where it is not found
 * out, the checker is blind.
 */
export async function copyWithMistake(resources: Resources, name: string): Promise<string> {
  const mistake = MUTANTS.find((mutant) => mutant.name === name);
  if (mistake === undefined) throw new Error(`there is no mutant ${name}`);
  const copy = await copySource();
  resources.add('the copy that lies', copy.remove);
  await applyMutant(copy.path, mistake);
  return join(copy.path, 'server/main.ts');
}
