import { fileURLToPath } from 'node:url';
import type { Belongings } from '../belongings.ts';
import { runProgram } from '../child-program.ts';
import type { GeneratorPlan } from './generator.ts';
import type { LoadResult } from './traffic.ts';

const GENERATOR = fileURLToPath(new URL('generator.ts', import.meta.url));

/** Runs our own generator in a process of its own. */
export async function runGenerator(belongings: Belongings, plan: GeneratorPlan): Promise<LoadResult> {
  const ending = await runProgram(belongings, process.execPath, [GENERATOR], { input: JSON.stringify(plan) });
  const counted = JSON.parse(ending.output) as Omit<LoadResult, 'generatorCores'>;
  return { ...counted, generatorCores: ending.processorTimeMilliseconds / ending.elapsedMilliseconds };
}
