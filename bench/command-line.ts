import { parseArgs } from 'node:util';

/** Numbers of the targets of docs/performance.md, and the two measurements that have no target. */
export const PARTS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'concurrency', 'profile'] as const;

/** One part of the bench. */
export type Part = (typeof PARTS)[number];

/** What to measure and how much of it. */
export type Options = {
  readonly quick: boolean;
  readonly parts: readonly Part[];
  /** Length of one measured run. */
  readonly seconds: number;
  /** Interleaved runs; what is reported is their median. */
  readonly rounds: number;
  readonly warmUp_s: number;
  /** Where results go; undefined for the usual place. */
  readonly out: string | undefined;
  /** The scale of pgbench: 100,000 accounts each. */
  readonly pgbenchScale: number;
  readonly stored: { readonly transfers: number; readonly cards: number };
  readonly memory: { readonly first: number; readonly last: number };
};

export const USAGE = `npm run bench -- [options]

  --quick            small data and short runs: minutes instead of the better part of an hour; only a glance
  --only 1,2,profile some of: ${PARTS.join(', ')}
  --seconds N        length of one measured run (20; with --quick 3)
  --rounds N         interleaved runs of which the median counts (3)
  --out DIRECTORY    where results go (docs/performance for a whole run, else data/bench)
`;

/** A command line that cannot be read; the message says why. */
export class UsageProblem extends Error {}

/** Reads the command line. Throws {@link UsageProblem}. */
export function readCommandLine(words: readonly string[]): Options {
  const values = parse(words);
  const { quick } = values;
  return {
    quick,
    parts: values.only === undefined ? PARTS : values.only.split(',').map(readPart),
    seconds: readCount('--seconds', values.seconds ?? (quick ? '3' : '20')),
    rounds: readCount('--rounds', values.rounds ?? '3'),
    warmUp_s: quick ? 2 : 5,
    out: values.out,
    pgbenchScale: quick ? 10 : 100,
    stored: quick ? { transfers: 100_000, cards: 20_000 } : { transfers: 5_000_000, cards: 1_000_000 },
    memory: quick ? { first: 12_000, last: 60_000 } : { first: 200_000, last: 1_000_000 },
  };
}

function parse(words: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    const options = {
      quick: { type: 'boolean', default: false },
      only: text,
      seconds: text,
      rounds: text,
      out: text,
    } as const;
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new UsageProblem(error instanceof Error ? error.message : String(error));
  }
}

function readPart(text: string): Part {
  const part = PARTS.find((name) => name === text.trim());
  if (part !== undefined) return part;
  throw new UsageProblem(`--only names '${text}', which is none of ${PARTS.join(', ')}.`);
}

function readCount(option: string, text: string): number {
  const count = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  throw new UsageProblem(`${option} is '${text}', but it must be a whole number from 1.`);
}
