import { parseArgs } from 'node:util';

/** Numbers of the rows of docs/performance.md. */
export const ROWS = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 18, 20, 21, 22, 23, 24] as const;

export type Row = (typeof ROWS)[number];

/** Measurements without a target, for the tables that show where the time goes. */
export const EXTRAS = ['profile'] as const;

export type Extra = (typeof EXTRAS)[number];

export type Options = {
  readonly quick: boolean;
  readonly rows: readonly Row[];
  readonly extras: readonly Extra[];
  /** Length of one measured run. */
  readonly seconds: number;
  /** Interleaved rounds; their median is reported. */
  readonly rounds: number;
  readonly warmUpSeconds: number;
  /** The directory for the results. Undefined for the default. */
  readonly out: string | undefined;
  /** The numbers of clients to try with pgbench. The best run counts. */
  readonly pgbenchClients: readonly number[];
  readonly stored: { readonly transfers: number; readonly cards: number };
  readonly growth: { readonly first: number; readonly last: number };
};

export const USAGE = `npm run bench -- [options]

  --quick        small data and short runs: an estimate, never a result to quote
  --only 1-6,11  some rows of docs/performance.md (1 to 3, 5 to 14, 18, 20 to 24), ${EXTRAS.join(', ')}
  --profile      the same as --only profile: self time by function, for each transfer
  --seconds N    length of one measured run (6; with --quick 3)
  --rounds N     rounds of which the median counts (3); each runs everything twice, forwards and backwards
  --out DIR      where results go (docs/performance for a full run, else data/bench)
`;

/** An invalid command line. The message says why. */
export class UsageProblem extends Error {}

/** Reads the command line. Throws {@link UsageProblem}. */
export function readCommandLine(words: readonly string[]): Options {
  const { quick, profile, only, seconds, rounds, out } = parse(words);
  const parts = profile ? { rows: [], extras: ['profile'] as const } : readParts(only);
  return {
    quick,
    ...parts,
    seconds: readCount('--seconds', seconds ?? (quick ? '3' : '6')),
    rounds: readCount('--rounds', rounds ?? '3'),
    warmUpSeconds: quick ? 2 : 4,
    out,
    // On every machine so far, one of these numbers was the best. A quick run tries fewer.
    pgbenchClients: quick ? [16, 48] : [16, 32, 48],
    stored: quick ? { transfers: 100_000, cards: 20_000 } : { transfers: 5_000_000, cards: 1_000_000 },
    growth: quick ? { first: 20_000, last: 100_000 } : { first: 200_000, last: 1_000_000 },
  };
}

function parse(words: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    const options = { quick: flag, profile: flag, only: text, seconds: text, rounds: text, out: text };
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new UsageProblem(error instanceof Error ? error.message : String(error));
  }
}

function readParts(only: string | undefined): Pick<Options, 'rows' | 'extras'> {
  if (only === undefined) return { rows: ROWS, extras: EXTRAS };
  const words = only.split(',').map((word) => word.trim());
  const numbers = words.flatMap((word) => (isExtra(word) ? [] : readNumbers(word)));
  return { rows: ROWS.filter((row) => numbers.includes(row)), extras: EXTRAS.filter((extra) => words.includes(extra)) };
}

function isExtra(word: string): boolean {
  return EXTRAS.some((extra) => extra === word);
}

/** Reads one row, such as `5`, or a range, such as `1-6`. */
function readNumbers(word: string): readonly number[] {
  const [, from = '', to = from] = /^([0-9]{1,2})(?:-([0-9]{1,2}))?$/.exec(word) ?? [];
  const found = ROWS.filter((row) => row >= Number(from) && row <= Number(to));
  if (from !== '' && ROWS.some((row) => row === Number(to)) && found.length > 0) return found;
  throw new UsageProblem(
    `--only names '${word}', which is not a row (1 to 3, 5 to 14, 18, 20 to 24) or one of ${EXTRAS.join(', ')}.`,
  );
}

function readCount(option: string, text: string): number {
  const count = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  throw new UsageProblem(`${option} is '${text}', but it must be a whole number from 1.`);
}
