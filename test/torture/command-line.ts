import { parseArgs } from 'node:util';
import type { Row, Scale } from './row.ts';

/** The rows to run, and how much of each. */
export type Options = {
  readonly rows: readonly Row[];
  readonly seed: number;
  readonly scale: Scale;
  /** Overrides the count of the scale. */
  readonly count: number | undefined;
  readonly out: string | undefined;
  /** Whether the kills are made against a service that acknowledges too early, which must be detected. */
  readonly control: boolean;
};

export const usageOf = (rows: readonly Row[]): string => `npm run torture -- [options]

  --only ROW,…       some of: ${rows.map(({ name }) => name).join(', ')}
  --seed N           draws the same again; without it a new one, which is printed
  --scale SCALE      small, middle or large (large)
  --count N          how many kills, cuts, reads … instead of what the scale says
  --out FILE         where the figures go as JSON (data/torture/<time>.json)
  --control          kills against a service that acknowledges before COMMIT: it must be found out, and fails;
                     failover and isolated-primary with asynchronous replication, which must lose transfers

Exit code: 0 when every promise was kept, 1 when one was broken, 3 when --control found nothing, 4 when a row could not
be run on this machine.`;

/** A command line that cannot be read; the message says why. */
export class UsageProblem extends Error {}

const SCALES = ['small', 'middle', 'large'] as const;

/** Reads the command line; undefined when only help is wanted. Throws {@link UsageProblem}. */
export function readOptions(words: readonly string[], rows: readonly Row[]): Options | undefined {
  const values = parse(words);
  if (values.help === true) return undefined;
  const control = values.control === true;
  const only = values.only ?? (control ? 'kills' : undefined);
  const scale = SCALES.find((name) => name === (values.scale ?? (control ? 'small' : 'large')));
  if (scale === undefined) throw new UsageProblem(`--scale is '${values.scale}', and must be ${SCALES.join(', ')}.`);
  return {
    rows: only === undefined ? rows : only.split(',').map((name) => findRow(name, rows)),
    seed: readNumber('--seed', values.seed) ?? Math.floor(Math.random() * 1_000_000_000),
    scale,
    count: readNumber('--count', values.count),
    out: values.out,
    control,
  };
}

function parse(words: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { only: text, seed: text, scale: text, count: text, out: text, control: flag, help: flag };
  try {
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new UsageProblem(error instanceof Error ? error.message : String(error));
  }
}

function findRow(name: string, rows: readonly Row[]): Row {
  const row = rows.find((candidate) => candidate.name === name.trim());
  if (row !== undefined) return row;
  throw new UsageProblem(`--only names '${name}', which is none of ${rows.map((known) => known.name).join(', ')}.`);
}

function readNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new UsageProblem(`${option} is '${text}', but it must be a whole number from 1 to 999999999.`);
}
