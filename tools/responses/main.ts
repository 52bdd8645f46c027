// Records the responses of a version of the service, and compares two recordings:
//   node tools/run.mjs tools/responses/main.ts record <file> [--tree <path to a clone>] [--seed 1] [--count 15000] [--like <file>]
//   node tools/run.mjs tools/responses/main.ts compare <file> <other file>
// The requests always come from this clone, so two versions get the same ones. An older version may lack operations: record it
// first, then record the newer version with `--like` and that file. Run `npm ci` in each clone.
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../command.ts';
import { compareRecordings } from './compare.ts';
import { type Recorded, record } from './record.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tree: { type: 'string', default: root },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '15000' },
    like: { type: 'string' },
  },
});
const [mode, file, other] = positionals;

if (mode === 'record' && file !== undefined) {
  const recorded = await record({
    main: join(resolve(values.tree), 'server/main.ts'),
    seed: Number(values.seed),
    count: Number(values.count),
    like: values.like === undefined ? undefined : new Set((await read(values.like)).map(({ operation }) => operation)),
  });
  await writeFile(file, recorded.map((one) => `${JSON.stringify(one)}\n`).join(''));
  console.log(`${recorded.length} responses in ${file}`);
} else if (mode === 'compare' && file !== undefined && other !== undefined) {
  const found = compareRecordings(await read(file), await read(other));
  for (const { kind, count, example } of found) console.log(`${count} x ${kind}\n    ${example}`);
  const total = found.reduce((sum, { count }) => sum + count, 0);
  console.log(`${total} differences of ${found.length} kinds`);
  if (total > 0) process.exitCode = 1;
} else {
  console.error('Missing command: record <file>, or compare <file> <other file>');
  process.exitCode = 2;
}

async function read(path: string): Promise<readonly Recorded[]> {
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Recorded);
}
