import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type CreateTransferBody,
  type ExportTransfersQuery,
  InvalidArgument,
  TRANSFER_STATUSES,
  TRANSFER_TYPES,
  type TransferBatchOutcomes,
  type TransferBatchRow,
  type TransferExplanation,
  type TransferRecord,
} from '../../sdk/client.ts';
import { type Column, money, table } from '../output.ts';
import {
  type AddCommands,
  addPageOptions,
  addTimeOptions,
  keyOption,
  moneyPairs,
  openSession,
  type PageOptions,
  readWholeNumber,
  type Surroundings,
  showList,
} from '../session.ts';
import { addOutputOption, type OutputOptions, showExport } from './export.ts';
import { addTransferChanges, readPair } from './transfer-changes.ts';

type TransferType = TransferRecord['type'];

type CreateOptions = {
  readonly card: string;
  readonly amount: string;
  readonly type?: TransferType;
  readonly destinationCard?: string;
  readonly currency?: string;
  readonly capture?: TransferRecord['capture'];
  readonly expiresAt?: string;
  readonly scheduledFor?: string;
  readonly description?: string;
  readonly reference?: string;
  readonly metadata?: Record<string, string>;
  readonly idempotencyKey?: string;
};

type FilterOptions = {
  readonly card?: string;
  readonly type?: TransferType;
  readonly status?: TransferRecord['status'];
  readonly reference?: string;
  readonly idempotencyKey?: string;
  readonly metadata?: Record<string, string>;
  readonly from?: string;
  readonly to?: string;
  readonly minimumAmount?: number;
  readonly maximumAmount?: number;
};

const COLUMNS: readonly Column<TransferRecord>[] = [
  { heading: 'transfer_id', show: (transfer) => transfer.transfer_id },
  { heading: 'type', show: (transfer) => transfer.type },
  { heading: 'card_id', show: (transfer) => transfer.card_id },
  { heading: 'destination_card_id', show: (transfer) => transfer.destination_card_id },
  { heading: 'amount', show: (transfer) => money(transfer.amount, transfer.currency), right: true },
  { heading: 'status', show: (transfer) => transfer.status },
  { heading: 'created_at', show: (transfer) => transfer.created_at },
];

type Check = TransferExplanation['checks'][number];

const CHECK_COLUMNS: readonly Column<Check>[] = [
  { heading: 'check', show: (check) => check.name },
  { heading: 'outcome', show: (check) => check.outcome },
  { heading: 'code', show: (check) => check.code },
  {
    heading: 'saw',
    show: (check) =>
      Object.entries(check.saw)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
  },
];

/** Adds `transfers create | explain | create-batch | get | list | export`, and what changes them. */
export const addTransfers: AddCommands = (program, surroundings) => {
  const transfers = program.command('transfers').description('move money, and see what has moved');
  addCreate(transfers, surroundings);
  addExplain(transfers, surroundings);
  addCreateBatch(transfers, surroundings);
  transfers
    .command('get')
    .description('show a transfer')
    .argument('<transfer_id>', 'its id, tr_...')
    .action(async (transferId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.transfers.get(transferId));
    });
  addFilters(addPageOptions(transfers.command('list').description('list transfers, newest first'))).action(
    async (options: PageOptions & FilterOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const filters = filtersIn(options);
      await showList(session, COLUMNS, options, (page) => session.service.transfers.list({ ...page, ...filters }));
    },
  );
  const exported = transfers.command('export').description('export transfers as comma-separated values, oldest first');
  addOutputOption(addFilters(exported)).action(async (options: OutputOptions & FilterOptions, command: Command) => {
    const session = openSession(command, surroundings);
    await showExport(session, options, surroundings, () => session.service.transfers.export(filtersIn(options)));
  });
  addTransferChanges(transfers, surroundings);
};

function addFilters(command: Command): Command {
  command
    .option('--card <card_id>', 'only those of this card, on either side')
    .addOption(new Option('--type <type>', 'only those of this type').choices(TRANSFER_TYPES))
    .addOption(new Option('--status <status>', 'only those in this state').choices(TRANSFER_STATUSES))
    .option('--reference <text>', 'only the one with this reference')
    .option('--idempotency-key <key>', 'only the one that this key made')
    .option('--metadata <name=value>', 'only those with this pair', readOnePair)
    .option('--minimum-amount <amount>', 'only those of so many minor units or more', readWholeNumber)
    .option('--maximum-amount <amount>', 'only those of so many minor units or less', readWholeNumber);
  return addTimeOptions(command, 'those');
}

function filtersIn(options: FilterOptions): ExportTransfersQuery {
  const [name, value] = Object.entries(options.metadata ?? {})[0] ?? [];
  return {
    card_id: options.card,
    type: options.type,
    status: options.status,
    reference: options.reference,
    idempotency_key: options.idempotencyKey,
    metadata_name: name,
    metadata_value: value,
    created_from: options.from,
    created_to: options.to,
    minimum_amount: options.minimumAmount,
    maximum_amount: options.maximumAmount,
  };
}

/** `create` and `explain` take the same options: what is explained is what would be created. */
function addTransferOptions(command: Command): Command {
  return command
    .requiredOption('--card <card_id>', 'the card')
    .requiredOption('--amount <amount>', 'in minor units: 1000 is 10.00 USD')
    .addOption(new Option('--type <type>', 'load if left out').choices(TRANSFER_TYPES))
    .option('--destination-card <card_id>', 'the card that receives; for card_to_card')
    .option('--currency <code>', 'must be the one of the card')
    .addOption(
      new Option('--capture <when>', 'manual only holds the money; automatic if left out').choices([
        'automatic',
        'manual',
      ]),
    )
    .option('--expires-at <time>', 'when a hold ends, up to 90 days ahead; 7 days if left out')
    .option('--scheduled-for <time>', 'when to make it, such as 2030-01-31T12:00:00Z; or now')
    .option('--description <text>', 'free text')
    .option('--reference <text>', 'a name of your own, unique in the program')
    .option('--metadata <name=value>', 'a pair of your own; can be repeated', readPair)
    .addOption(keyOption());
}

function bodyOf(options: CreateOptions): CreateTransferBody {
  return {
    // As typed: what is an amount and what is not, the service says, in the same words for everyone.
    amount: options.amount,
    card_id: options.card,
    type: options.type,
    destination_card_id: options.destinationCard,
    currency: options.currency,
    capture: options.capture,
    expires_at: options.expiresAt,
    scheduled_for: options.scheduledFor,
    description: options.description,
    reference: options.reference,
    metadata: options.metadata,
  };
}

function addCreate(transfers: Command, surroundings: Surroundings): void {
  const create = transfers.command('create').description('load a card, unload it, or move money from card to card');
  addTransferOptions(create).action(async (options: CreateOptions, command: Command) => {
    const session = openSession(command, surroundings);
    const transfer = await session.service.transfers.create(bodyOf(options), {
      idempotencyKey: options.idempotencyKey,
    });
    session.showRecord(transfer, moneyPairs(transfer));
  });
}

function addExplain(transfers: Command, surroundings: Surroundings): void {
  const explain = transfers.command('explain').description('run the checks of create and show them; moves nothing');
  addTransferOptions(explain).action(async (options: CreateOptions, command: Command) => {
    const session = openSession(command, surroundings);
    const explanation = await session.service.transfers.explain(bodyOf(options), {
      idempotencyKey: options.idempotencyKey,
    });
    const verdict = explanation.would_succeed
      ? 'The transfer would be made.'
      : `The transfer would be refused: ${explanation.first_failure}.`;
    session.showText(explanation, `${table(CHECK_COLUMNS, explanation.checks)}\n${verdict}\n`);
  });
}

const OUTCOME_COLUMNS: readonly Column<TransferBatchOutcomes['data'][number]>[] = [
  { heading: 'row', show: (outcome) => String(outcome.index), right: true },
  { heading: 'idempotency_key', show: (outcome) => outcome.idempotency_key },
  { heading: 'status', show: (outcome) => String(outcome.status), right: true },
  { heading: 'result', show: (outcome) => outcome.transfer?.transfer_id ?? outcome.error?.Code ?? null },
];

function addCreateBatch(transfers: Command, surroundings: Surroundings): void {
  transfers
    .command('create-batch')
    .description('create up to 1,000 transfers from a file of JSON')
    .argument('<file>', 'an array of rows; - reads it from standard input')
    .action(async (file: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      const outcomes = await session.service.transfers.createBatch(readRows(file));
      const failed = outcomes.data.filter(({ error }) => error !== null).length;
      const verdict = `${outcomes.data.length - failed} created, ${failed} refused`;
      session.showText(outcomes, `${table(OUTCOME_COLUMNS, outcomes.data)}\n${verdict}\n`);
      if (failed > 0) surroundings.endWith(1);
    });
}

/** What is a row and what is not, the service says; here it must only be JSON. */
function readRows(file: string): TransferBatchRow[] {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (error) {
    throw new InvalidArgument(`${file} cannot be read as JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function readOnePair(text: string, before: Record<string, string> | undefined): Record<string, string> {
  if (before !== undefined) throw new InvalidArgumentError('It can be given once.');
  return readPair(text, undefined);
}
