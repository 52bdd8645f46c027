import { basename } from 'node:path';
import type { Command } from 'commander';
import { DIFFERENCE_REASONS } from '../../domain/comparison.ts';
import { printable } from '../../domain/printable-text.ts';
import {
  AwaitsApproval,
  type ComparedCard,
  type ComparisonRecord,
  type CutOverBody,
  type DifferenceRecord,
  InvalidArgument,
  type ListComparisonsQuery,
  type ListDifferencesQuery,
  type ListMoveInsQuery,
  type MoveInRecord,
  type SwitchRecord,
  TransferServiceError,
  type UndoMoveInBody,
} from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList } from '../command.ts';
import { EXIT_CODES, FileProblems } from '../failure.ts';
import { grouped, Progress, patiently, readFileOf, refuseProblems } from '../files/line-file.ts';
import type { Delta } from '../move-in/balance-file.ts';
import type { ReadMoveInFile, SentMoveInLine } from '../move-in/move-in-file.ts';
import { alignedLines, type Column, money, pairsOf, table } from '../output.ts';
import { type CommandContext, programOf, type Session } from '../session.ts';
import { plainTime, readEarlier } from '../times.ts';

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

const COMPARISON_COLUMNS: readonly Column<ComparisonRecord>[] = [
  'comparison_id',
  'created_at',
  'program_id',
  'name',
  'as_of',
  'status',
  { heading: 'cards', show: ({ card_count: cards }) => String(cards), right: true },
  { heading: 'compared', show: ({ cards_received: cards }) => String(cards), right: true },
  { heading: 'differences', show: ({ difference_count: count }) => String(count), right: true },
];

/** An amount for people, or null. */
const shownAmount = (amount: number | string | null, currency: string) =>
  amount === null ? null : money(amount, currency);

const DIFFERENCE_COLUMNS: readonly Column<DifferenceRecord>[] = [
  'card_id',
  'reason',
  { heading: 'here', show: ({ here, currency }) => shownAmount(here, currency), right: true },
  { heading: 'there', show: ({ there, currency }) => shownAmount(there, currency), right: true },
  {
    heading: 'transfer or reference',
    show: ({ transfer_id: transferId, reference }) =>
      [transferId, reference].filter((one) => one !== null).join(' ') || null,
  },
];

const FILE = 'cards and holds: comma-separated values, or one JSON object a line';

const CHECK_NOTES = `
Every line is a card, an open hold or a finished transfer of the card of an
earlier line, or the total of a currency (kind: card, hold, transfer or total).
A file of comma-separated values names its columns in the first line. Amounts
are in minor units.

  card      card_id, balance; optional: currency, status, holder_reference,
            last_four, expires_on (2030-01-31), and in JSON also metadata
  hold      card_id, amount, expires_at; optional: reference, description
  transfer  card_id; reference, idempotency_key or both
  total     currency, cards, balance, holds, held

Nothing of the file is sent. Exits with 1 if a line has a problem, or if the
lines do not add up to the totals that the file states.`;

const RUN_NOTES = `
The file is checked first. If it has a problem, nothing is moved in.

If a run was interrupted, run it again: it continues where it stopped. Exits
with 3 if the books differ from the file in the end.`;

const COMPARE_NOTES = `
The file has the lines of 'move-in check', with every card of the old ledger and
its open holds. It is checked first. If it has a problem, nothing is compared.

Exits with 3 if there are differences.`;

const CUT_OVER_NOTES = `
Disables the transfers of the card program here, compares the file with the
books, moves the last differences in, and compares again. If every card is
equal, it signs the report and enables the transfers.

If a cut-over was interrupted, or waited for an approval, run it again with the
same file and the same --as-of. Exits with 3 if there are differences that it
cannot resolve.`;

const AS_OF_HELP = 'when the old ledger had these balances, in UTC: 2030-01-31, or "2030-01-31 12:00"';

const COMPARISON_ID = 'id of the comparison, cmp_...';

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
        help: AS_OF_HELP,
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
  addComparisons(moveIn, context);
};

function addComparisons(moveIn: Command, context: CommandContext): void {
  const program = { flag: '--program <program_id>', help: 'card program that the cards moved to; required' };
  addCommand<CompareOptions>(moveIn, context, {
    name: 'compare <file>',
    argument: FILE,
    description: 'compare the cards of a file with the books, and list the differences',
    notes: COMPARE_NOTES,
    options: {
      program,
      as_of: {
        flag: '--as-of <time>',
        help: 'compare the books of this time, at least a minute ago (default: the current books)',
        read: readEarlier,
      },
    },
    run: (session, { as_of }, path) => runComparison(session, path, as_of),
  });
  addList<ComparisonRecord, Omit<ListComparisonsQuery, 'limit' | 'cursor'>>(moveIn, context, {
    name: 'comparisons',
    description: 'list the comparisons, newest first',
    options: { program_id: { flag: '--program <program_id>', help: 'filter by card program' } },
    columns: COMPARISON_COLUMNS,
    list: (service, query) => service.comparisons.list(query),
    empty: { text: 'No comparisons.', next: [['compare a file', 'move-in compare <file> --program <program_id>']] },
  });
  addCommand(moveIn, context, {
    name: 'comparison <comparison_id>',
    argument: COMPARISON_ID,
    description: 'show a comparison: its sums on both sides, and its report',
    run: async (session, _, id) => showComparison(session, await session.service.comparisons.get(id)),
  });
  addList<DifferenceRecord, Omit<ListDifferencesQuery, 'limit' | 'cursor'>>(moveIn, context, {
    name: 'differences <comparison_id>',
    argument: COMPARISON_ID,
    description: 'list the differences that a comparison has found',
    options: { reason: { flag: '--reason <reason>', help: 'filter by probable reason', choices: DIFFERENCE_REASONS } },
    columns: DIFFERENCE_COLUMNS,
    list: (service, query, id) => service.comparisons.differences(id, query),
    empty: { text: 'No differences.' },
  });
  addCommand<CutOverOptions>(moveIn, context, {
    name: 'cut-over <file>',
    argument: FILE,
    description: 'move the last differences in, compare, sign the report and enable the transfers',
    notes: CUT_OVER_NOTES,
    options: {
      program,
      as_of: { flag: '--as-of <time>', help: AS_OF_HELP, required: true, read: readEarlier },
      note: { flag: '--note <text>', help: 'why; stored with the report', required: true },
    },
    run: (session, { as_of, note }, path) => runCutOver(session, path, { asOf: as_of, note }),
  });
}

type CheckOptions = { readonly program?: string; readonly currency?: string };

type RunOptions = { readonly program?: string; readonly as_of: string };

type CompareOptions = { readonly program?: string; readonly as_of?: string };

type CutOverOptions = RunOptions & CutOverBody;

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

/** Reads a file without problems. Throws otherwise. `nothing` completes the message: `nothing was moved in from`. */
async function readRightFile(session: Session, path: string, nothing: string): Promise<RightFile> {
  const { currency, program_id: programId } = await session.service.programs.get(programOf(session));
  const file = await readFile(path, currency);
  const { wrongTotals } = await import('../move-in/describe.ts');
  refuseProblems(path, file.checked, nothing);
  const wrong = wrongTotals(file.checked);
  if (wrong !== undefined) throw new FileProblems(`${nothing} ${path}:`, [wrong]);
  return { ...file, programId, name: basename(path) };
}

/** A file without problems, and the card program that its cards move to. */
type RightFile = ReadMoveInFile & { readonly programId: string; readonly name: string };

async function runFile(session: Session, path: string, asOf: string): Promise<void> {
  const { service, exitWith, showText } = session;
  const { checked, portions, programId, name } = await readRightFile(session, path, 'nothing was moved in from');
  const { describeBooks } = await import('../move-in/describe.ts');
  const { sha256, lineCount, stated } = checked;
  const started = await service.moveIns.create({
    ...{ program_id: programId, name, sha256, as_of: asOf, line_count: lineCount },
    ...(stated.length === 0 ? {} : { totals: [...stated] }),
  });
  refuseUndoing(session, started);
  const moved = await addLines(session, started, portions(started.lines_received));
  if (moved.lines_received < lineCount) {
    throw new InvalidArgument(`${printable(path)} became shorter while it was read: it had ${lineCount} lines`);
  }
  const { text, isRight } = describeBooks(moved, checked);
  showText(moved, `${recordText(moved)}\n${text}`);
  if (!isRight) exitWith(EXIT_CODES.serviceFault);
}

function refuseUndoing({ command }: Session, { status, move_in_id: moveInId, name }: MoveInRecord): void {
  if (status !== 'undoing') return;
  const undoing = `${command} move-in undo ${moveInId} --note <text>`;
  throw new InvalidArgument(`the move-in of ${name} is being undone. Finish that first: ${undoing}`);
}

/** Adds the lines that the service does not have yet. Returns the move-in after the last one. */
async function addLines(
  session: Session,
  started: MoveInRecord,
  portions: AsyncIterable<readonly SentMoveInLine[]>,
  what = 'file',
): Promise<MoveInRecord> {
  const { move_in_id: moveInId, line_count: lineCount, lines_received: known } = started;
  const say = sayOf(session);
  if (known > 0) say(`${grouped(known)} of ${grouped(lineCount)} lines have already moved in.\n`);
  const progress = new Progress(lineCount, 'lines are moved in', say, known);
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
        say(`The service refused line ${line} of the ${what}, and so its request of ${lines.length} lines.\n`);
      throw error;
    }
    first += lines.length;
    progress.report(record.lines_received);
  }
  return record;
}

/** The line of the file that the service refused. It counts other lines: without the names of columns and the totals. */
function refusedLine(error: unknown, lines: readonly SentMoveInLine[]): number | undefined {
  const field = error instanceof TransferServiceError ? error.field : undefined;
  const [, index] = /^\/lines\/(\d+)/.exec(field ?? '') ?? [];
  return index === undefined ? undefined : lines[Number(index)]?.line;
}

/** Compares the cards of a file with the books. Returns the comparison after the last card. */
async function compareFile(session: Session, file: RightFile, asOf?: string): Promise<ComparisonRecord> {
  const { comparisons } = session.service;
  const say = sayOf(session);
  const { BalanceFile } = await import('../move-in/balance-file.ts');
  const balances = await BalanceFile.read(file.lines());
  const { programId, name, checked } = file;
  const body = {
    ...{ program_id: programId, name, sha256: checked.sha256, card_count: balances.cardCount },
    ...(asOf === undefined ? {} : { as_of: asOf }),
  };
  let record: ComparisonRecord = await patiently(say, () => comparisons.create(body));
  const { comparison_id: id, card_count: count } = record;
  const progress = new Progress(count, 'cards are compared', say);
  const add = async (cards: readonly ComparedCard[]): Promise<void> => {
    const first = record.cards_received + 1;
    record = await patiently(say, () => comparisons.addCards(id, { first_card: first, cards }));
    progress.report(record.cards_received);
  };
  let sent = 0;
  for (const portion of balances.portions()) {
    sent += portion.length;
    // The service compares fewer cards than were sent if there are many other cards here.
    while (record.cards_received < sent) await add(portion.slice(record.cards_received - sent));
  }
  while (record.status === 'comparing') await add([]);
  return record;
}

async function runComparison(session: Session, path: string, asOf: string | undefined): Promise<void> {
  const file = await readRightFile(session, path, 'nothing was compared with');
  const record = await compareFile(session, file, asOf);
  await showCompared(session, record);
}

/** The number of differences that are printed with a comparison. */
const SHOWN_DIFFERENCES = 100;

/** Prints a comparison with its first differences. Sets the exit code if there is one. */
async function showCompared(session: Session, record: ComparisonRecord): Promise<void> {
  const { service, showText, json, width, command, exitWith } = session;
  const { comparison_id: id, difference_count: count } = record;
  const { describeComparison, reportLine } = await import('../move-in/describe.ts');
  let differences = '';
  if (count > 0 && !json) {
    const { data } = await service.comparisons.differences(id, { limit: SHOWN_DIFFERENCES });
    const more = count - data.length;
    const rest = more === 0 ? '' : `and ${grouped(more)} more: ${command} move-in differences ${id} --all\n`;
    differences = `\n${table(DIFFERENCE_COLUMNS, data, width)}${rest}`;
  }
  showText(record, `${describeComparison(record)}${differences}${reportLine(record)}`);
  if (count > 0) exitWith(EXIT_CODES.serviceFault);
}

async function showComparison({ showText }: Session, record: ComparisonRecord): Promise<void> {
  const { describeComparison, reportLine } = await import('../move-in/describe.ts');
  showText(record, `${describeComparison(record)}${reportLine(record)}`);
}

type CutOver = { readonly asOf: string; readonly note: string };

async function runCutOver(session: Session, path: string, { asOf, note }: CutOver): Promise<void> {
  const { comparisons } = session.service;
  const say = sayOf(session);
  const file = await readRightFile(session, path, 'nothing was cut over with');
  const setting = await programSetting(session, file.programId);
  const earlier = await earlierCutOver(session, file.programId);
  if (earlier !== undefined) return showEarlier(session, file, { earlier, setting });
  await refuseWaiting(session, file);
  await disable(session, file, setting);
  let compared = await compareFile(session, file);
  say(`${countedDifferences(compared)}\n`);
  if (compared.difference_count > 0) {
    if (!(await moveDelta(session, file, compared, asOf))) return;
    compared = await compareFile(session, file);
    say(`${countedDifferences(compared)}\n`);
  }
  if (compared.difference_count > 0) return showCompared(session, compared);
  const { comparison_id: id } = compared;
  const record = await patiently(say, () => comparisons.cutOver(id, { note })).catch((error: unknown) => {
    if (error instanceof AwaitsApproval) say(`${STAY_DISABLED}\n`);
    throw error;
  });
  say('The report is signed. The transfers of the card program are enabled.\n');
  await showComparison(session, record);
}

const STAY_DISABLED =
  'The report waits for an approval. The transfers of the card program stay disabled until it is approved.';

const countedDifferences = ({ card_count: cards, difference_count: count }: ComparisonRecord): string => {
  const found = count === 0 ? 'no differences' : count === 1 ? '1 difference' : `${grouped(count)} differences`;
  return `Compared ${cards === 1 ? '1 card' : `${grouped(cards)} cards`} of the file with the books: ${found}.`;
};

/** Returns the setting that disables all transfers of a card program, or undefined. */
async function programSetting({ service }: Session, programId: string): Promise<SwitchRecord | undefined> {
  const { data } = await service.switch.get();
  return data.find(
    (one) => one.disabled && one.program_id === programId && one.type === null && one.connector_id === null,
  );
}

/** Returns the comparison with which a card program was cut over, unless cards have moved in or back since, as after a rehearsal. */
async function earlierCutOver({ service }: Session, programId: string): Promise<ComparisonRecord | undefined> {
  const query = { program_id: programId, limit: 100 };
  for await (const record of service.comparisons.listAll(query)) {
    const { status, cut_over_at: since } = record;
    if (status !== 'cut_over' || since === null) continue;
    for await (const { created_at: createdAt, undone_at: undoneAt } of service.moveIns.listAll(query)) {
      if (createdAt > since || (undoneAt !== null && undoneAt > since)) return undefined;
    }
    return record;
  }
  return undefined;
}

type Earlier = { readonly earlier: ComparisonRecord; readonly setting: SwitchRecord | undefined };

/** Shows an earlier cut-over. Another one would undo the transfers since. Throws if it was another file. */
async function showEarlier(session: Session, { programId, checked }: RightFile, { earlier, setting }: Earlier) {
  const { name, sha256, cut_over_at: cutOverAt } = earlier;
  const before = `the card program was cut over with ${printable(name)} at ${plainTime(cutOverAt ?? '')}`;
  if (sha256 !== checked.sha256) {
    throw new InvalidArgument(`${before}. Undo its move-ins before you cut it over again`);
  }
  const enable = `Its transfers are disabled again. To enable them: ${session.command} switch enable --program ${programId}`;
  sayOf(session)(`${before.replace('the', 'The')}.\n${setting === undefined ? '' : `${enable}\n`}`);
  await showComparison(session, earlier);
}

/** Ends the command if a cut-over of the same file waits for an approval. Another request would need a second one. */
async function refuseWaiting(session: Session, { programId, checked }: RightFile): Promise<void> {
  const { service } = session;
  for await (const approval of service.approvals.listAll({ status: 'pending', limit: 100 })) {
    const { comparison_id: id } = approval.path;
    if (approval.operation !== 'cut_over' || id === undefined) continue;
    const { program_id: ofProgram, sha256 } = await service.comparisons.get(id);
    if (ofProgram !== programId || sha256 !== checked.sha256) continue;
    sayOf(session)(`${STAY_DISABLED}\n`);
    const { request_id: requestId } = approval;
    const response = { status: 202, replayed: true, moneyMoved: 'no', version: undefined } as const;
    throw new AwaitsApproval(approval, {
      ...response,
      ...{ requestId, idempotencyKey: undefined, attempts: 1, headers: new Headers() },
    });
  }
}

async function disable(
  session: Session,
  { programId, name }: RightFile,
  setting: SwitchRecord | undefined,
): Promise<void> {
  const say = sayOf(session);
  if (setting !== undefined) return say('The transfers of the card program are disabled.\n');
  const body = { program_id: programId, reason: `Cut-over of ${name}` };
  await patiently(say, () => session.service.switch.disable(body));
  say('The transfers of the card program were enabled. They are disabled now.\n');
}

/** Brings the cards here to the state of the file. Returns whether it could: otherwise the differences that stay are printed. */
async function moveDelta(
  session: Session,
  file: RightFile,
  compared: ComparisonRecord,
  asOf: string,
): Promise<boolean> {
  const { service } = session;
  const { programId } = file;
  const say = sayOf(session);
  const { deltaOf } = await import('../move-in/balance-file.ts');
  const differences: DifferenceRecord[] = [];
  const all = service.comparisons.differencesAll(compared.comparison_id, { limit: 100 });
  for await (const difference of all) differences.push(difference);
  const balanceOf = async (cardId: string) => (await service.cards.get(cardId, { programId })).balance;
  const delta = await deltaOf({ differences, lines: file.lines(), balanceOf });
  if (delta.unresolved.length > 0) {
    await showUnresolved(session, compared, delta);
    return false;
  }
  if (delta.lines.length > 0) await runDelta(session, file, delta, asOf);
  for (const { cardId, status } of delta.statuses) {
    await patiently(say, () => service.cards.update(cardId, { status }, { programId }));
    say(`The card ${printable(cardId)} is ${status} now.\n`);
  }
  return true;
}

async function showUnresolved(session: Session, compared: ComparisonRecord, { unresolved }: Delta): Promise<void> {
  const { adviceFor } = await import('../move-in/balance-file.ts');
  const lines = unresolved.slice(0, SHOWN_DIFFERENCES).map((difference) => {
    const { card_id: cardId, reason, message } = difference;
    return `${printable(`${cardId}, ${reason}: ${message} ${adviceFor(difference)}`)}\n`;
  });
  const more = unresolved.length - lines.length;
  const rest = more === 0 ? '' : `and ${grouped(more)} more\n`;
  const what = 'These differences must be resolved first. Nothing was moved in, and the transfers stay disabled.';
  session.showText(compared, `${what}\n${lines.join('')}${rest}`);
  session.exitWith(EXIT_CODES.serviceFault);
}

/** Moves the lines of a delta in. A delta that was interrupted before its lines took effect is continued. */
async function runDelta(
  session: Session,
  { programId, name, checked }: RightFile,
  delta: Delta,
  asOf: string,
): Promise<void> {
  const { moveIns } = session.service;
  const say = sayOf(session);
  const { hashOfDelta } = await import('../move-in/balance-file.ts');
  const { lines } = delta;
  const about = { program_id: programId, name: `${name} (delta)`, as_of: asOf, line_count: lines.length };
  let started: MoveInRecord;
  let round = 1;
  do {
    const sha256 = hashOfDelta(checked.sha256, asOf, delta, round);
    started = await patiently(say, () => moveIns.create({ ...about, sha256 }));
    round += 1;
  } while (started.status === 'moved');
  refuseUndoing(session, started);
  const { move_in_id: moveInId, lines_received: known } = started;
  await addLines(session, started, deltaPortions(lines, known), 'delta');
  say(`A delta of ${lines.length === 1 ? '1 line' : `${grouped(lines.length)} lines`} has moved in: ${moveInId}\n`);
}

async function* deltaPortions(lines: Delta['lines'], known: number): AsyncGenerator<readonly SentMoveInLine[]> {
  const { MAX_MOVE_IN_LINES: size } = await import('../../contract/move-ins.ts');
  for (let start = known; start < lines.length; start += size) {
    yield lines.slice(start, start + size).map((sent, at) => ({ line: start + at + 1, sent }));
  }
}

async function undo(session: Session, moveInId: string, body: UndoMoveInBody): Promise<void> {
  const { moveIns } = session.service;
  const say = sayOf(session);
  const undoNext = () => patiently(say, () => moveIns.undo(moveInId, body));
  let record = await undoNext();
  const progress = new Progress(record.lines_received, 'lines are undone', say, record.lines_undone);
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
