import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../../domain/printable-text.ts';
import {
  InvalidArgument,
  type ListMoveInsQuery,
  type MoveInRecord,
  TransferServiceError,
  type UndoMoveInBody,
} from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList } from '../command.ts';
import { EXIT_CODES, FileProblems } from '../failure.ts';
import { grouped, Progress, readFileOf, refuseProblems } from '../files/line-file.ts';
import type { ReadMoveInFile, SentMoveInLine } from '../move-in/move-in-file.ts';
import { alignedLines, type Column, pairsOf } from '../output.ts';
import { programOf, type Session } from '../session.ts';
import { readEarlier } from '../times.ts';

const COLUMNS: readonly Column<MoveInRecord>[] = [
  'move_in_id',
  'created_at',
  'program_id',
  'name',
  'status',
  { heading: 'lines', show: ({ line_count: lines }) => String(lines), right: true },
  { heading: 'received', show: ({ lines_received: lines }) => String(lines), right: true },
  { heading: 'undone', show: ({ lines_undone: lines }) => String(lines), right: true },
  'adds_up',
];

const FILE = 'cards and holds: comma-separated values, or one JSON object a line';

const CHECK_NOTES = `
Every line is a card, an open hold on the card of an earlier line, or the total
of a currency (kind: card, hold or total). A file of comma-separated values
names its columns in the first line. Amounts are in minor units.

  card   card_id, balance; optional: currency, status, holder_reference,
         last_four, expires_on (2030-01-31), and in JSON also metadata
  hold   card_id, amount, expires_at; optional: reference, description
  total  currency, cards, balance, holds, held

Nothing of the file is sent. Exits with 1 if a line has a problem, or if the
lines do not add up to the totals that the file states.`;

const RUN_NOTES = `
The file is checked first. If it has a problem, nothing is moved in.

If a run was interrupted, run it again: it continues where it stopped. Exits
with 3 if the books differ from the file in the end.`;

const MOVE_IN_ID = 'id of the move-in, mvi_...';

export const addMoveIn: AddCommands = (program, context) => {
  const moveIn = program
    .command('move-in')
    .description('move cards in from another ledger, with balances and open holds; for operators');
  addCommand<CheckOptions>(moveIn, context, {
    name: 'check <file>',
    argument: FILE,
    description: 'check every line of a file, and show its totals',
    notes: CHECK_NOTES,
    options: {
      program: { flag: '--program <program_id>', help: 'card program that the cards move to, for its currency' },
      currency: { flag: '--currency <code>', help: "currency of cards without one (default: the card program's)" },
    },
    run: (session, { currency }, path) => checkFile(session, path, currency),
  });
  addCommand<RunOptions>(moveIn, context, {
    name: 'run <file>',
    argument: FILE,
    description: 'move the cards of a file in, and compare the books with its totals',
    notes: RUN_NOTES,
    options: {
      program: { flag: '--program <program_id>', help: 'card program that the cards move to; required' },
      as_of: {
        flag: '--as-of <time>',
        help: 'when the old ledger had these balances, in UTC: 2030-01-31, or "2030-01-31 12:00"',
        required: true,
        read: readEarlier,
      },
    },
    run: (session, { as_of }, path) => runFile(session, path, as_of),
  });
  addList<MoveInRecord, Omit<ListMoveInsQuery, 'limit' | 'cursor'>>(moveIn, context, {
    name: 'list',
    description: 'list the move-ins, newest first',
    options: { program_id: { flag: '--program <program_id>', help: 'filter by card program' } },
    columns: COLUMNS,
    list: (service, query) => service.moveIns.list(query),
    empty: { text: 'No move-ins.', next: [['check a file first', 'move-in check <file> --program <program_id>']] },
  });
  addCommand(moveIn, context, {
    name: 'show <move_in_id>',
    argument: MOVE_IN_ID,
    description: 'show a move-in: how many lines have taken effect, and its sums',
    run: async (session, _, moveInId) => showMoveIn(session, await session.service.moveIns.get(moveInId)),
  });
  addCommand<UndoMoveInBody>(moveIn, context, {
    name: 'undo <move_in_id>',
    argument: MOVE_IN_ID,
    description: 'undo a move-in, from its last line on',
    notes: `
Works until money of a card has moved. If it was interrupted, run it again: it
continues where it stopped.`,
    options: { note: { flag: '--note <text>', help: 'why', required: true } },
    run: (session, body, moveInId) => undo(session, moveInId, body),
  });
};

type CheckOptions = { readonly program?: string; readonly currency?: string };

type RunOptions = { readonly program?: string; readonly as_of: string };

async function readFile(path: string, currency: string | undefined): Promise<ReadMoveInFile> {
  // The contract takes long to load, and only these commands need it.
  const { readMoveInFile } = await import('../move-in/move-in-file.ts');
  return readFileOf(path, () => readMoveInFile(path, currency));
}

async function checkFile(session: Session, path: string, given: string | undefined): Promise<void> {
  const { service, program, showText, exitWith } = session;
  const currency = given ?? (program === undefined ? undefined : (await service.programs.get(program)).currency);
  const { checked } = await readFile(path, currency);
  const { describeCheck } = await import('../move-in/describe.ts');
  const { record, text, isRight } = describeCheck(basename(path), checked);
  showText(record, text);
  if (!isRight) exitWith(EXIT_CODES.requestError);
}

async function runFile(session: Session, path: string, asOf: string): Promise<void> {
  const { service, exitWith, showText } = session;
  const { currency, program_id: programId } = await service.programs.get(programOf(session));
  const { checked, portions } = await readFile(path, currency);
  const { describeBooks, wrongTotals } = await import('../move-in/describe.ts');
  const nothing = 'nothing was moved in from';
  refuseProblems(path, checked, nothing);
  const wrong = wrongTotals(checked);
  if (wrong !== undefined) throw new FileProblems(`${nothing} ${path}:`, [wrong]);
  const { sha256, lineCount, stated } = checked;
  const started = await service.moveIns.create({
    ...{ program_id: programId, name: basename(path), sha256, as_of: asOf, line_count: lineCount },
    ...(stated.length === 0 ? {} : { totals: [...stated] }),
  });
  const { move_in_id: moveInId } = started;
  if (started.status === 'undoing') {
    const command = `${session.command} move-in undo ${moveInId} --note <text>`;
    throw new InvalidArgument(`the move-in of this file is being undone. Finish that first: ${command}`);
  }
  const moved = await addLines(session, started, portions(started.lines_received));
  if (moved.lines_received < lineCount) {
    throw new InvalidArgument(`${printable(path)} became shorter while it was read: it had ${lineCount} lines`);
  }
  const { text, isRight } = describeBooks(moved, checked);
  showText(moved, `${recordText(moved)}\n${text}`);
  if (!isRight) exitWith(EXIT_CODES.serviceFault);
}

/** Adds the lines that the service does not have yet. Returns the move-in after the last one. */
async function addLines(
  session: Session,
  started: MoveInRecord,
  portions: AsyncIterable<readonly SentMoveInLine[]>,
): Promise<MoveInRecord> {
  const { move_in_id: moveInId, line_count: lineCount, lines_received: known } = started;
  const say = sayOf(session);
  if (known > 0) say(`${grouped(known)} of ${grouped(lineCount)} lines have already moved in.\n`);
  const progress = new Progress(lineCount, 'moved in', say, known);
  let record = started;
  // Counted here: if someone runs the same file at the same time, the service has more lines than this run has sent.
  let first = known + 1;
  for await (const lines of portions) {
    const body = { first_line: first, lines: lines.map(({ sent }) => sent) };
    try {
      record = await patiently(say, () => session.service.moveIns.addLines(moveInId, body));
    } catch (error) {
      const line = refusedLine(error, lines);
      if (line !== undefined)
        say(`The service refused line ${line} of the file, and so its request of ${lines.length} lines.\n`);
      throw error;
    }
    first += lines.length;
    progress.report(record.lines_received);
  }
  return record;
}

/** How often a request is repeated while the service is busy. With the pauses this is about a minute. */
const MAX_REPETITIONS = 20;
const PAUSE_SECONDS = 3;

/** Sends a request that can be repeated. Repeats it while the service is busy, because the move would stop in the middle otherwise. */
async function patiently<Reply>(say: (text: string) => void, send: () => Promise<Reply>): Promise<Reply> {
  for (let repetition = 1; ; repetition += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof TransferServiceError && error.shouldRetry) || repetition > MAX_REPETITIONS) throw error;
      const seconds = Math.max(PAUSE_SECONDS, error.retryAfterSeconds ?? 0);
      say(`The service is busy (${error.Code}). The request is repeated in ${seconds} s.\n`);
      await sleep(seconds * 1000);
    }
  }
}

/** The line of the file that the service refused. It counts other lines: without the names of columns and the totals. */
function refusedLine(error: unknown, lines: readonly SentMoveInLine[]): number | undefined {
  const field = error instanceof TransferServiceError ? error.field : undefined;
  const [, index] = /^\/lines\/(\d+)/.exec(field ?? '') ?? [];
  return index === undefined ? undefined : lines[Number(index)]?.line;
}

async function undo(session: Session, moveInId: string, body: UndoMoveInBody): Promise<void> {
  const { moveIns } = session.service;
  const say = sayOf(session);
  const undoNext = () => patiently(say, () => moveIns.undo(moveInId, body));
  let record = await undoNext();
  const progress = new Progress(record.lines_received, 'undone', say, record.lines_undone);
  while (record.status !== 'undone') {
    record = await undoNext();
    progress.report(record.lines_undone);
  }
  await showMoveIn(session, record);
}

async function showMoveIn({ showText }: Session, record: MoveInRecord): Promise<void> {
  const { describeSums } = await import('../move-in/describe.ts');
  showText(record, `${recordText(record)}${describeSums(record)}`);
}

const recordText = (record: MoveInRecord): string => alignedLines(pairsOf({ ...record, totals: undefined }));

/** Prints a remark on standard error, unless the output is for a program. */
const sayOf =
  ({ writeError, json }: Session) =>
  (text: string): void => {
    if (!json) writeError(text);
  };
