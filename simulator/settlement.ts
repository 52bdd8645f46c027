import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Attempt, apply } from './attempts.ts';
import { readBook } from './book.ts';

/** The differences that can be planted in a file. The service must find a break for each. */
const PLANTS = ['amount', 'duplicate', 'missing_in_ledger', 'missing_in_file'] as const;

type Plant = (typeof PLANTS)[number];

const HEAD = 'attempt_id,processor_reference,kind,amount,currency,fee,status,settled_on';

type Line = {
  readonly attemptId: string;
  readonly reference: string;
  readonly amount: number;
  readonly status: 'settled' | 'reversed';
  readonly of: Attempt;
};

/**
 * Runs `main.ts settlement <directory> [<plant>...]`: writes a new settlement file with all orders that are not in a
 * file of the directory yet, and prints its path. Returns the exit code.
 */
export function settlementCommand([directory = '', ...words]: readonly string[]): number {
  const odd = words.find((word) => !isPlant(word));
  if (odd !== undefined) return fail(`'${odd}' cannot be planted. The differences are: ${PLANTS.join(', ')}.`);
  if (!existsSync(directory))
    return fail(`There are no orders of the simulator in ${directory}. Set DATA_DIR to the directory of the service.`);
  const names = readdirSync(directory).filter((name) => /^settlement-\d+\.csv$/.test(name));
  const written = new Set(names.flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').map(keyOf)));
  const lines = linesOf(directory).filter((line) => !written.has(keyOf(textOf(line))));
  const planted = plant(lines, words.filter(isPlant));
  if (planted === undefined) return fail(`Too few new orders for these differences: ${lines.length}.`);
  if (planted.length === 0) return fail('Every order is already in a settlement file.');
  const path = join(directory, `settlement-${names.length + 1}.csv`);
  writeFileSync(path, `${[HEAD, ...planted.map(textOf)].join('\n')}\n`, { flag: 'wx', mode: 0o600 });
  process.stdout.write(`${path}\n`);
  return 0;
}

function isPlant(word: string): word is Plant {
  return PLANTS.some((one) => one === word);
}

function fail(sentence: string): number {
  process.stderr.write(`${sentence}\n`);
  return 1;
}

/** The lines of all executed orders. An order that was undone afterwards has two. */
function linesOf(directory: string): readonly Line[] {
  const attempts = new Map<string, Attempt>();
  for (const fact of readBook(directory)) apply(attempts, fact);
  return [...attempts.values()].flatMap((of): readonly Line[] => {
    if (of.executed === null) return [];
    const { attemptId } = of;
    const line = { attemptId, of, ...of.executed, status: 'settled' } as const;
    return of.state === 'reversed' ? [line, { ...line, status: 'reversed' }] : [line];
  });
}

/** Changes one order for each difference, the oldest first. Returns undefined if there are too few orders. */
function plant(lines: readonly Line[], plants: readonly Plant[]): readonly Line[] | undefined {
  if (plants.length > lines.length) return undefined;
  return lines.flatMap((line, index) => withDifference(line, plants[index]));
}

function withDifference(line: Line, kind: Plant | undefined): readonly Line[] {
  switch (kind) {
    case 'amount':
      return [{ ...line, amount: line.amount + 1 }];
    case 'duplicate':
      return [line, line];
    case 'missing_in_ledger':
      return [line, { ...line, attemptId: `unknown_${line.attemptId}`, reference: '' }];
    case 'missing_in_file':
      return [];
    case undefined:
      return [line];
  }
}

/** The identity of a line of a file: the order, and whether it was settled or reversed. */
function keyOf(text: string): string {
  const [attemptId, , , , , , status] = text.split(',');
  return `${attemptId} ${status}`;
}

/** The deadline of an order shows the day by the clock of the sandbox, which can be ahead of the real one. */
function textOf({ attemptId, reference, amount, status, of: { order, notAfter } }: Line): string {
  const day = new Date(notAfter ?? Date.now()).toISOString().slice(0, 10);
  return [attemptId, reference, order.kind, amount, order.currency, Math.ceil(amount / 100), status, day].join(',');
}
