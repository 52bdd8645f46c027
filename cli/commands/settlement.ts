import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../../domain/printable-text.ts';
import { LINE_OUTCOMES } from '../../domain/processors/settlement.ts';
import {
  InvalidArgument,
  type ListSettlementFilesQuery,
  type SettlementFileRecord,
  type WithdrawSettlementFileBody,
} from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption, readWholeNumber } from '../command.ts';
import { Progress, readFileOf, refuseProblems } from '../files/line-file.ts';
import { type Column, money, type Pair, pairsOf } from '../output.ts';
import { type Session, showChanged } from '../session.ts';
import type { Reference } from '../settlement-camt.ts';
import type { ReadSettlementFile } from '../settlement-csv.ts';

const COLUMNS: readonly Column<SettlementFileRecord>[] = [
  'file_id',
  'created_at',
  'connector_id',
  'name',
  'status',
  { heading: 'lines', show: ({ line_count: lines }) => String(lines), right: true },
  { heading: 'matched', show: ({ outcomes }) => String(outcomes.matched), right: true },
  { heading: 'reported', show: ({ outcomes }) => String(outcomes.reported), right: true },
  { heading: 'breaks', show: (file) => String(breaksOf(file)), right: true },
];

/** Breaks are found within seconds. A file of a million lines takes minutes. */
const POLL_MILLISECONDS = 500;

const IMPORT_NOTES = `
A file of comma-separated values names its columns in the first line:
attempt_id or processor_reference, kind (push or pull), amount and fee in minor
units, currency, status (settled or reversed), settled_on (2030-01-31). A file
in XML is a camt.053 or camt.054 of ISO 20022, and a file with numbered records
is BAI2. Both are about your account at the processor.

The service takes all lines or none, and the same file only once. If an import
was interrupted, run it again: it continues where it stopped.`;

export const addSettlement: AddCommands = (program, context) => {
  const settlement = program
    .command('settlement')
    .description('compare the settlement files of processors with the books');
  addCommand<ImportOptions>(settlement, context, {
    name: 'import <file>',
    argument: 'file of the processor: comma-separated values, camt.053, camt.054 or BAI2',
    description: 'import a settlement file, and show what differs from the books',
    notes: IMPORT_NOTES,
    options: {
      connector: { flag: '--connector <connector_id>', help: 'connector of the processor', required: true },
      reference: {
        flag: '--reference <element>',
        help: 'element of an XML file with our ids of orders (default: EndToEndId)',
        choices: ['EndToEndId', 'InstrId', 'TxId', 'AcctSvcrRef'],
      },
      sequence: {
        flag: '--sequence <number>',
        help: 'running number of the file, or "none" (default: the number in a camt file)',
        read: (text) => (text === 'none' ? text : readWholeNumber(text)),
      },
      noWait: { flag: '--later', help: 'do not wait for the comparison' },
    },
    run: (session, options, path) => importFile(session, path, options),
  });
  addList<SettlementFileRecord, Omit<ListSettlementFilesQuery, 'limit' | 'cursor'>>(settlement, context, {
    name: 'list',
    description: 'list the settlement files, newest first',
    options: { connector_id: { flag: '--connector <connector_id>', help: 'filter by connector' } },
    columns: COLUMNS,
    list: (service, query) => service.settlementFiles.list(query),
    empty: { text: 'No settlement files.' },
  });
  addCommand(settlement, context, {
    name: 'show <file_id>',
    argument: FILE_ID,
    description: 'show a settlement file: how many lines matched, and its sums',
    run: async ({ service, show }, _, fileId) => {
      const file = await service.settlementFiles.get(fileId);
      show(file, textOf(file));
    },
  });
  addCommand<WithdrawSettlementFileBody & KeyOption>(settlement, context, {
    name: 'withdraw <file_id>',
    argument: FILE_ID,
    description: 'withdraw a settlement file, so that it no longer counts and can be imported again',
    notes: `
The breaks that only this file has caused are closed. The outcomes that the file
has reported to the service remain.`,
    options: { note: { flag: '--note <text>', help: 'why', required: true }, ...KEY_OPTION },
    run: async (session, { idempotencyKey, ...body }, fileId) => {
      const withdrawn = await session.service.settlementFiles.withdraw(fileId, body, { idempotencyKey });
      showChanged(session, withdrawn, pairsOf({ ...withdrawn, outcomes: undefined }));
    },
  });
};

const FILE_ID = 'id of the settlement file, stl_...';

type ImportOptions = {
  readonly connector: string;
  readonly reference?: Reference;
  readonly sequence?: number | 'none';
  readonly noWait?: boolean;
};

async function importFile(session: Session, path: string, options: ImportOptions): Promise<void> {
  const { connector: connectorId, noWait = false } = options;
  const { service, writeError, show, json } = session;
  const say = (text: string): void => {
    if (!json) writeError(text);
  };
  const { checked, portions } = await readFile(path, options.reference);
  refuseProblems(path, checked, 'nothing was imported from');
  const { sha256, lineCount, sequenceNumber } = checked;
  const { sequence = sequenceNumber ?? 'none' } = options;
  const about = { connector_id: connectorId, name: basename(path), sha256, line_count: lineCount };
  const number = sequence === 'none' ? {} : { sequence_number: sequence };
  let file: SettlementFileRecord = await service.settlementFiles.create({ ...about, ...number });
  const { file_id: fileId, lines_received: known } = file;
  if (known > 0) say(`${known} of ${lineCount} lines are already stored.\n`);
  let first = known + 1;
  const storing = new Progress(lineCount, 'lines are stored', say, known);
  for await (const lines of portions(known)) {
    file = await service.settlementFiles.addLines(fileId, { first_line: first, lines: [...lines] });
    storing.report(file.lines_received);
    first += lines.length;
  }
  if (file.lines_received < lineCount) {
    throw new InvalidArgument(`${printable(path)} became shorter while it was imported: it had ${lineCount} lines`);
  }
  const comparing = new Progress(lineCount, 'lines are compared', say, file.lines_examined);
  while (!noWait && (file.status === 'receiving' || file.status === 'matching')) {
    await sleep(POLL_MILLISECONDS);
    file = await service.settlementFiles.get(fileId);
    comparing.report(file.lines_examined);
  }
  if (file.withdrawn_at !== null) throw new InvalidArgument(`the settlement file ${fileId} was withdrawn`);
  show(file, textOf(file));
  if (breaksOf(file) > 0) say(`\nShow the breaks: ${session.command} breaks list --file ${fileId}\n`);
}

async function readFile(path: string, reference: Reference | undefined): Promise<ReadSettlementFile> {
  // The contract and the readers of the formats take long to load, and only this command needs them.
  const { readSettlementFile } = await import('../settlement-file.ts');
  return readFileOf(path, () => readSettlementFile(path, reference ?? 'EndToEndId'));
}

const breaksOf = ({ outcomes }: SettlementFileRecord): number =>
  outcomes.differs + outcomes.duplicate + outcomes.missing_in_ledger;

/** The file, each of its outcomes and each of its sums on a line. */
function textOf({ outcomes, totals, ...file }: SettlementFileRecord): readonly Pair[] {
  const sums = totals.map(
    ({ currency, pushed, pulled, reversed, fees }): Pair => [
      currency,
      `pushed ${money(pushed, currency)}, pulled ${money(pulled, currency)}, reversed ${money(reversed, currency)}, fees ${money(fees, currency)}`,
    ],
  );
  return [...pairsOf(file), ...LINE_OUTCOMES.map((outcome): Pair => [outcome, String(outcomes[outcome])]), ...sums];
}
