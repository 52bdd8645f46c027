/**
 * Runs every contestant once, then every one again, as often as there are rounds: what a machine does to one of them
 * (a neighbour, heat, a full disk cache) it does to all. Gives the runs of each by its name.
 */
export async function interleave<Results extends Readonly<Record<string, unknown>>>(
  rounds: number,
  contestants: { readonly [Name in keyof Results]: () => Promise<Results[Name]> },
): Promise<{ readonly [Name in keyof Results]: readonly Results[Name][] }> {
  const names = Object.keys(contestants) as (keyof Results)[];
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as {
    [Name in keyof Results]: Results[Name][];
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) results[name].push(await contestants[name]());
  }
  return results;
}
