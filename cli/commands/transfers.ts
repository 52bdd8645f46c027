import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import {
  type CaptureTransferBody,
  type CreateTransferBody,
  type ExportTransfersQuery,
  InvalidArgument,
  type ReversalRecord,
  type ReverseTransferBody,
  TRANSFER_STATUSES,
  TRANSFER_TYPES,
  type TransferBatchOutcomes,
  type TransferBatchRow,
  type TransferRecord,
} from '../../sdk/client.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { AMOUNT_HELP, amountFields, readAmount, type TypedAmount } from '../amount.ts';
import {
  type AddCommands,
  addCommand,
  addList,
  KEY_OPTION,
  type KeyOption,
  type OptionsFor,
  readWholeNumber,
  TIME_OPTIONS,
  VERSION_OPTION,
  type VersionOption,
} from '../command.ts';
import { EXIT_CODES } from '../failure.ts';
import { type Column, money, moneyColumn, table, wrap } from '../output.ts';
import { type CommandContext, type Session, showMoved, showVersioned } from '../session.ts';
import { readLater } from '../times.ts';
import { EXPORT_NOTES, OUTPUT_OPTION, type OutputOption, showExport } from './export.ts';
import {
  METADATA_CHANGE_OPTIONS,
  METADATA_FILTER,
  METADATA_OPTION,
  type MetadataChange,
  metadataPatch,
  type Pairs,
  queryOf,
} from './support/metadata.ts';

const TRANSFER_ID = 'transfer id, tr_...';

/** A pair of metadata is given as one option. */
type Filters = Omit<ExportTransfersQuery, 'raw' | 'metadata_name' | 'metadata_value'> & { readonly metadata?: Pairs };

const FILTER_OPTIONS: OptionsFor<Filters> = {
  card_id: { flag: '--card <card_id>', help: 'filter by card, on either side of the transfer' },
  type: { flag: '--type <type>', help: 'filter by type', choices: TRANSFER_TYPES },
  status: { flag: '--status <status>', help: 'filter by status', choices: TRANSFER_STATUSES },
  reference: { flag: '--reference <text>', help: 'filter by reference' },
  idempotency_key: { flag: '--idempotency-key <key>', help: 'filter by the idempotency key of the request' },
  metadata: METADATA_FILTER,
  minimum_amount: { flag: '--minimum-amount <amount>', help: 'minimum amount, in minor units', read: readWholeNumber },
  maximum_amount: { flag: '--maximum-amount <amount>', help: 'maximum amount, in minor units', read: readWholeNumber },
  ...TIME_OPTIONS,
};

type TransferOptions = Omit<CreateTransferBody, 'amount'> & KeyOption & { readonly amount: TypedAmount };

const TRANSFER_OPTIONS: OptionsFor<TransferOptions> = {
  card_id: { flag: '--card <card_id>', help: 'card id', required: true },
  amount: { flag: '--amount <amount>', help: AMOUNT_HELP, required: true, read: readAmount },
  type: { flag: '--type <type>', help: 'type of transfer (default: load)', choices: TRANSFER_TYPES },
  destination_card_id: { flag: '--destination-card <card_id>', help: 'receiving card; with --type card_to_card' },
  currency: { flag: '--currency <code>', help: "ISO 4217 code; must be the card's currency" },
  capture: {
    flag: '--capture <method>',
    help: 'manual: place a hold, and capture it later (default: automatic)',
    choices: ['automatic', 'manual'],
  },
  expires_at: {
    flag: '--expires-at <time>',
    help: 'when the hold expires, at most 90 days from now: a time, or a duration such as 36h (default: 7d)',
    read: readLater,
  },
  scheduled_for: {
    flag: '--scheduled-for <time>',
    help: 'execution time in UTC, such as 2030-01-31 or "2030-01-31 12:00", or a duration such as 36h (default: now)',
    read: readLater,
  },
  description: { flag: '--description <text>', help: 'free text' },
  reference: { flag: '--reference <text>', help: 'your reference, unique in the card program' },
  metadata: METADATA_OPTION,
  ...KEY_OPTION,
};

/** Shows the captured amount only if it differs from the amount, and the reversed amount only if it is not zero. */
const COLUMNS: readonly Column<TransferRecord>[] = [
  'transfer_id',
  'type',
  'card_id',
  'destination_card_id',
  moneyColumn('amount'),
  {
    heading: 'captured',
    show: ({ amount, captured_amount: captured, currency }) => (captured === amount ? null : money(captured, currency)),
    right: true,
  },
  {
    heading: 'reversed',
    show: ({ reversed_amount: reversed, currency }) => (reversed === 0 ? null : money(reversed, currency)),
    right: true,
  },
  'status',
  'created_at',
];

export const addTransfers: AddCommands = (program, context) => {
  const transfers = program.command('transfers').description('transfers, with their holds and reversals');
  addCreate(transfers, context);
  addCreateBatch(transfers, context);
  addCommand(transfers, context, {
    name: 'get <transfer_id>',
    argument: TRANSFER_ID,
    description: 'show a transfer',
    run: async (session, _, transferId) => showVersioned(session, await session.service.transfers.get(transferId)),
  });
  addTimeline(transfers, context);
  addList<TransferRecord, Filters>(transfers, context, {
    name: 'list',
    description: 'list transfers, newest first',
    options: FILTER_OPTIONS,
    columns: COLUMNS,
    list: (service, query) => service.transfers.list(queryOf(query)),
    empty: {
      text: 'No transfers.',
      next: [
        ['create one', 'transfers create --card <card_id> --amount "10.00 USD"'],
        ['in another card program, for operators', 'programs list'],
      ],
      filtered: [
        ['all transfers', 'transfers list'],
        ['in any card program, for operators', 'search <id, reference or amount>'],
      ],
    },
  });
  addCommand<Filters & OutputOption>(transfers, context, {
    name: 'export',
    description: 'export transfers as CSV, oldest first',
    options: { ...FILTER_OPTIONS, ...OUTPUT_OPTION },
    notes: EXPORT_NOTES,
    run: (session, { output, ...filters }) =>
      showExport(session, output, () => session.service.transfers.export(queryOf(filters))),
  });
  addMoneyChanges(transfers, context);
  addReversals(transfers, context);
  addUpdate(transfers, context);
};

function addTimeline(transfers: Command, context: CommandContext): void {
  addCommand(transfers, context, {
    name: 'timeline <transfer_id>',
    argument: TRANSFER_ID,
    description: 'show whether the money of a transfer moved, and everything that happened to it',
    run: async ({ service, showText }, _, transferId) => {
      const timeline = await service.transfers.timeline(transferId);
      const { transfer, money, steps, likely_duplicates, truncated } = timeline;
      // Transfers for different dates are separate orders, not duplicates.
      const duplicates = likely_duplicates
        .filter(({ scheduled_for: due }) => due === transfer.scheduled_for)
        .map(({ transfer_id }) => `Likely a duplicate of this transfer: ${transfer_id}`);
      const notes = [...duplicates, ...truncated.map(({ text }) => text)].map((line) => `${line}\n`).join('');
      showText(timeline, `${money.sentence}\n\n${table(['at', 'kind', 'text'], steps)}${notes}`);
    },
  });
}

function addCreate(transfers: Command, context: CommandContext): void {
  addCommand<TransferOptions>(transfers, context, {
    name: 'create',
    description: 'load a card, unload it, or move money from card to card',
    options: TRANSFER_OPTIONS,
    run: async (session, { idempotencyKey, amount, ...body }) =>
      showMoved(
        session,
        await session.service.transfers.create({ ...body, ...amountFields(amount, body.currency) }, { idempotencyKey }),
      ),
  });
  addCommand<TransferOptions>(transfers, context, {
    name: 'explain',
    description: 'run all checks of create and show their results, without moving money',
    options: TRANSFER_OPTIONS,
    run: async ({ service, showText, width }, { idempotencyKey, amount, ...body }) => {
      const typed = { ...body, ...amountFields(amount, body.currency) };
      const explanation = await service.transfers.explain(typed, { idempotencyKey });
      const { checks, would_succeed, first_failure, result } = explanation;
      const foreseen = result === null ? '' : ` ${result.sentence}`;
      const verdict = would_succeed
        ? `The transfer would succeed.${foreseen}`
        : `The transfer would fail: ${first_failure}.`;
      const currency = checks.find(({ saw }) => saw.card_currency !== undefined)?.saw.card_currency;
      const saw = (check: (typeof checks)[number]) =>
        Object.entries(check.saw)
          .map(([name, value]) => `${name}=${checkValueText(name, String(value), currency)}`)
          .join(', ');
      const isEvaluated = ({ outcome }: (typeof checks)[number]) => outcome !== 'not_evaluated';
      const columns = ['name', 'outcome', 'code', { heading: 'values', show: saw }] as const;
      const others = checks.filter((check) => !isEvaluated(check)).map(({ name }) => name);
      const notEvaluated = others.length === 0 ? '' : wrap(`Not evaluated: ${others.join(', ')}.`, '', '  ');
      showText(
        explanation,
        `${table(columns, checks.filter(isEvaluated), width)}${notEvaluated}\n${wrap(verdict, '', '')}`,
      );
    },
  });
}

const AMOUNT_NAMES = /^(available|balance|incoming|used)$|(^|_)amount$|_balance$/;

function checkValueText(name: string, text: string, currency: unknown): string {
  const isAmount = AMOUNT_NAMES.test(name) && /^-?\d{1,15}$/.test(text);
  return isAmount && typeof currency === 'string' ? money(Number(text), currency) : text;
}

function addCreateBatch(transfers: Command, context: CommandContext): void {
  addCommand(transfers, context, {
    name: 'create-batch <file>',
    argument: 'JSON file with an array of transfers; - reads standard input',
    description: 'create up to 1,000 transfers from a JSON file',
    notes: BATCH_NOTES,
    run: async ({ service, showText, exitWith, width }, _, file) => {
      const outcomes = await service.transfers.createBatch(readRows(file));
      showText(outcomes, `${table(BATCH_COLUMNS, outcomes.data, width)}\n${batchSummary(outcomes.data)}`);
      if (outcomes.data.some(isRefused)) exitWith(EXIT_CODES.requestError);
      if (outcomes.data.some(isFault)) exitWith(EXIT_CODES.serviceFault);
    },
  });
}

type BatchOutcome = TransferBatchOutcomes['data'][number];

const BATCH_NOTES = `
Each row has its own idempotency_key. The exit code is 3 if the service failed
for a row, otherwise 1 if it refused a row.`;

const BATCH_COLUMNS: readonly Column<BatchOutcome>[] = [
  'index',
  'idempotency_key',
  'status',
  'money_moved',
  'replayed',
  { heading: 'result', show: ({ transfer, error }) => transfer?.transfer_id ?? error?.Code ?? null },
];

/** Whether the row was refused. Its money has not moved. */
const isRefused = ({ error }: BatchOutcome): boolean => error?.Type === 'Request Error';
/** Whether the service failed for the row. Its money may have moved. */
const isFault = (row: BatchOutcome): boolean => row.error !== null && !isRefused(row);

function batchSummary(rows: readonly BatchOutcome[]): string {
  const faults = rows.filter(isFault);
  const failed = (moved: BatchOutcome['money_moved']): number =>
    faults.filter(({ money_moved }) => money_moved === moved).length;
  const counts: readonly (readonly [count: number, text: string])[] = [
    [rows.filter(({ transfer, replayed }) => transfer !== null && !replayed).length, 'created'],
    [rows.filter(({ transfer, replayed }) => transfer !== null && replayed).length, 'already created'],
    [rows.filter(isRefused).length, 'refused'],
    [failed('no'), 'failed (no money moved)'],
    [failed('yes'), 'failed (the money has moved)'],
    [failed('unknown'), 'unknown (money may have moved)'],
  ];
  const shown = counts.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`);
  const advice = 'To get the missing outcomes, send the batch again with the same keys. No row moves money twice.';
  return `${shown.join(', ')}\n${faults.length === 0 ? '' : wrap(advice, '', '')}`;
}

type WithAmount<Body> = Omit<Body, 'amount'> & KeyOption & { readonly amount?: TypedAmount };

/**
 * Returns the amount for a request about a transfer. The API expects it in the transfer's currency, so a typed currency is
 * compared first.
 */
async function amountOf(
  { service }: Session,
  transferId: string,
  typed: TypedAmount | undefined,
): Promise<{ readonly amount?: string }> {
  if (typed === undefined) return {};
  if (typed.currency !== undefined) {
    const { currency } = await service.transfers.get(transferId);
    if (currency !== typed.currency) {
      throw new InvalidArgument(`--amount is in ${typed.currency}, and the transfer ${transferId} is in ${currency}`);
    }
  }
  return { amount: typed.minorUnits };
}

function addMoneyChanges(transfers: Command, context: CommandContext): void {
  addCommand<WithAmount<CaptureTransferBody>>(transfers, context, {
    name: 'capture <transfer_id>',
    argument: TRANSFER_ID,
    description: 'capture a hold, in full or in part, and release the rest',
    options: {
      amount: { flag: '--amount <amount>', help: `${AMOUNT_HELP} (default: the full hold)`, read: readAmount },
      ...KEY_OPTION,
    },
    run: async (session, { idempotencyKey, amount }, transferId) => {
      const body = await amountOf(session, transferId, amount);
      showMoved(session, await session.service.transfers.capture(transferId, body, { idempotencyKey }));
    },
  });
  addCommand<KeyOption>(transfers, context, {
    name: 'cancel <transfer_id>',
    argument: TRANSFER_ID,
    description: 'cancel a scheduled or pending transfer, and release its hold',
    options: KEY_OPTION,
    run: async (session, { idempotencyKey }, transferId) =>
      showMoved(session, await session.service.transfers.cancel(transferId, { idempotencyKey })),
  });
  addCommand<WithAmount<ReverseTransferBody>>(transfers, context, {
    name: 'reverse <transfer_id>',
    argument: TRANSFER_ID,
    description: 'reverse a completed transfer, in full or in part',
    options: {
      amount: {
        flag: '--amount <amount>',
        help: `${AMOUNT_HELP} (default: the amount that is not reversed yet)`,
        read: readAmount,
      },
      description: { flag: '--description <text>', help: 'free text, such as the reason' },
      ...KEY_OPTION,
    },
    run: async (session, { idempotencyKey, amount, ...rest }, transferId) => {
      const body = { ...rest, ...(await amountOf(session, transferId, amount)) };
      showMoved(session, await session.service.transfers.reverse(transferId, body, { idempotencyKey }));
    },
  });
}

function addReversals(transfers: Command, context: CommandContext): void {
  addList<ReversalRecord>(transfers, context, {
    name: 'reversals <transfer_id>',
    argument: TRANSFER_ID,
    description: 'list the reversals of a transfer, newest first',
    columns: ['reversal_id', moneyColumn('amount'), 'status', 'created_at', 'description'],
    list: (service, query, transferId) => service.transfers.reversals(transferId, query),
    empty: {
      text: 'This transfer has no reversals.',
      next: [['reverse it', 'transfers reverse <transfer_id> --amount "10.00 USD"']],
    },
  });
  addCommand(transfers, context, {
    name: 'reversal <reversal_id>',
    argument: 'reversal id, rev_...',
    description: 'show a reversal',
    run: async ({ service, show }, _, reversalId) => show(await service.transfers.reversal(reversalId)),
  });
}

function addUpdate(transfers: Command, context: CommandContext): void {
  addCommand<MetadataChange & VersionOption>(transfers, context, {
    name: 'update <transfer_id>',
    argument: TRANSFER_ID,
    description: 'change the metadata of a transfer; other pairs keep their values',
    options: { ...METADATA_CHANGE_OPTIONS, ...VERSION_OPTION },
    run: async ({ service, show }, { ifMatch, ...change }, transferId) => {
      const metadata = metadataPatch(change);
      if (metadata === undefined) throw new InvalidArgument('give --metadata, --remove-metadata or --clear-metadata');
      show(await service.transfers.update(transferId, { metadata }, { ifMatch }));
    },
  });
}

/** Reads the rows of a batch. The service validates them. */
function readRows(file: string): TransferBatchRow[] {
  try {
    return parseJson(readFileSync(file === '-' ? 0 : file, 'utf8')) as TransferBatchRow[];
  } catch (error) {
    throw new InvalidArgument(`${file} cannot be read as JSON: ${error instanceof Error ? error.message : error}`);
  }
}
