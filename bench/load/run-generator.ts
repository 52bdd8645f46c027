import { fileURLToPath } from 'node:url';
import { runProgram } from '../child-program.ts';
import type { Resources } from '../resources.ts';
import type { GeneratorPlan } from './generator.ts';
import type { LoadResult, Traffic } from './traffic.ts';

const GENERATOR = fileURLToPath(new URL('generator.ts', import.meta.url));

export async function runGenerator(resources: Resources, plan: GeneratorPlan): Promise<LoadResult> {
  const ending = await runProgram(resources, process.execPath, [GENERATOR], { input: JSON.stringify(plan) });
  const counted = JSON.parse(ending.output) as Omit<LoadResult, 'generatorCores'>;
  return { ...counted, generatorCores: ending.processorTimeMilliseconds / ending.elapsedMilliseconds };
}

/**
 * Sends single transfers over some connections for some seconds. Each connection sends its next transfer after the
 * response to the last one.
 */
export function sendTransfers(
  resources: Resources,
  traffic: Traffic,
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  const plan = { ...traffic, mode: 'closed', connections, seconds, send: { kind: 'transfers' } } as const;
  return runGenerator(resources, plan);
}
