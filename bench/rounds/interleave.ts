/**
 * Runs each workload once per round, in the opposite order in every second round: a machine that becomes slower or
 * faster then does so for all of them alike. Gives the results of each by its name, in the order of the rounds.
 */
export async function interleave<Name extends string, Result>(
  rounds: number,
  names: readonly Name[],
  run: (name: Name, round: number) => Promise<Result>,
  between: (round: number) => Promise<void> = async () => undefined,
): Promise<Readonly<Record<Name, readonly Result[]>>> {
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Result[]>;
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) results[name].push(await run(name, round));
    await between(round);
  }
  return results;
}
