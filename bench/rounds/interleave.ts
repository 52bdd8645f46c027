import { meanOf } from '../figures.ts';

/**
 * Runs the workloads twice per round: in order, and then in reverse order (A B B A). A machine that becomes slower or
 * faster, and the start of a round, then affect all workloads equally. For each workload, returns the mean of its two
 * runs in each round, in the order of the rounds.
 */
export async function interleave<Name extends string, Result>(
  rounds: number,
  names: readonly Name[],
  run: (name: Name, round: number) => Promise<Result>,
  between: (round: number) => Promise<void> = async () => undefined,
): Promise<Readonly<Record<Name, readonly Result[]>>> {
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Result[]>;
  for (let round = 0; round < rounds; round += 1) {
    const there = new Map<Name, Result>();
    for (const name of names) there.set(name, await run(name, round));
    for (const name of names.toReversed()) {
      results[name].push(meanOf(there.get(name) as Result, await run(name, round)));
    }
    await between(round);
  }
  return results;
}
