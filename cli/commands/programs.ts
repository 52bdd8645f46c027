import type { Command } from 'commander';
import type {
  CreateProgramBody,
  ExportFundingMovementsQuery,
  FundingMovementBody,
  FundingMovementRecord,
  ProgramAsOf,
  ProgramRecord,
  SearchFundingMovementsQuery,
} from '../../sdk/client.ts';
import { AMOUNT_HELP, amountFields, readAmount, type TypedAmount } from '../amount.ts';
import {
  type AddCommands,
  AS_OF_OPTION,
  type AsOf,
  addCommand,
  addList,
  KEY_OPTION,
  type KeyOption,
  readWholeNumber,
  TIME_OPTIONS,
  VERSION_OPTION,
  type VersionOption,
} from '../command.ts';
import { type Column, money, moneyColumn, type Pair, pairsOf } from '../output.ts';
import { type CommandContext, programOf, showChanged, showMoved, showVersioned } from '../session.ts';
import { EXPORT_NOTES, OUTPUT_OPTION, type OutputOption, showExport } from './export.ts';
import { LIMITS_CHANGE_NOTES, LIMITS_FORM, type LimitsChange, readLimitsChange } from './limits.ts';
import {
  METADATA_CHANGE_OPTIONS,
  METADATA_FILTER,
  METADATA_OPTION,
  type MetadataChange,
  metadataPatch,
  type Pairs,
  queryOf,
} from './support/metadata.ts';

type UpdateOptions = MetadataChange &
  VersionOption & {
    readonly name?: string;
    readonly limits?: LimitsChange;
    readonly card_limits?: LimitsChange;
    readonly funding_low_threshold?: number | null;
  };

const MOVEMENT_COLUMNS: readonly Column<FundingMovementRecord>[] = [
  'movement_id',
  'created_at',
  'kind',
  moneyColumn('amount'),
  moneyColumn('balance'),
  'created_by',
  'description',
  'reference',
];

const PROGRAM_ID = 'card program id, prog_...';

export const addPrograms: AddCommands = (program, context) => {
  const programs = program.command('programs').description('card programs');
  addCommand<CreateProgramBody & KeyOption>(programs, context, {
    name: 'create',
    description: 'create a card program',
    options: {
      name: { flag: '--name <text>', help: 'name of the card program', required: true },
      currency: { flag: '--currency <code>', help: 'ISO 4217 code of its cards, such as USD', required: true },
      time_zone: { flag: '--time-zone <name>', help: 'time zone of its limits, such as Europe/Paris (default: UTC)' },
      funding_low_threshold: {
        flag: '--funding-low-threshold <amount>',
        help: 'amount below which its funding is low, in minor units',
        read: readWholeNumber,
      },
      metadata: METADATA_OPTION,
      ...KEY_OPTION,
    },
    run: async (session, { idempotencyKey, ...body }) => {
      const created = await session.service.programs.create(body, { idempotencyKey });
      showChanged(session, created, programPairs(created));
    },
  });
  addCommand<AsOf>(programs, context, {
    name: 'get <program_id>',
    argument: PROGRAM_ID,
    description: 'show a card program and its funding',
    options: AS_OF_OPTION,
    run: async (session, query, programId) => {
      const found = await session.service.programs.get(programId, {}, query);
      showVersioned(session, found, programPairs(found));
    },
  });
  addList<ProgramRecord, { readonly metadata?: Pairs }>(programs, context, {
    name: 'list',
    description: 'list card programs, newest first',
    options: { metadata: METADATA_FILTER },
    columns: ['program_id', 'name', 'currency', { heading: 'funding available', show: fundingAvailable, right: true }],
    list: (service, query) => service.programs.list(queryOf(query)),
    empty: {
      text: 'No card programs.',
      next: [['create one', 'programs create --name <text> --currency USD']],
      filtered: [['all card programs', 'programs list']],
    },
  });
  addList<FundingMovementRecord, { readonly reference?: string; readonly metadata?: Pairs }>(programs, context, {
    name: 'movements <program_id>',
    argument: PROGRAM_ID,
    description: 'list the deposits and withdrawals of a card program, newest first',
    options: {
      reference: { flag: '--reference <text>', help: 'filter by reference' },
      metadata: METADATA_FILTER,
    },
    columns: MOVEMENT_COLUMNS,
    list: (service, query, programId) => service.programs.movements(programId, queryOf(query)),
    empty: {
      text: 'No deposits or withdrawals.',
      next: [['deposit', 'deposits create --program <program_id> --amount "1000.00 USD"']],
      filtered: [['all deposits and withdrawals', 'programs movements <program_id>']],
    },
  });
  addCommand<Omit<ExportFundingMovementsQuery, 'raw'> & OutputOption>(programs, context, {
    name: 'export-movements <program_id>',
    argument: PROGRAM_ID,
    description: 'export the deposits and withdrawals of a card program as CSV, oldest first',
    options: { ...TIME_OPTIONS, ...OUTPUT_OPTION },
    notes: EXPORT_NOTES,
    run: (session, { output, ...period }, programId) =>
      showExport(session, output, () => session.service.programs.exportMovements(programId, period)),
  });
  addUpdate(programs, context);
};

function addUpdate(programs: Command, context: CommandContext): void {
  addCommand<UpdateOptions>(programs, context, {
    name: 'update <program_id>',
    argument: PROGRAM_ID,
    description:
      'change the name, limits, funding threshold or metadata of a card program; omitted fields keep their values',
    options: {
      name: { flag: '--name <text>', help: 'name of the card program' },
      limits: {
        flag: '--limits <limits>',
        help: `limits of all its cards together: ${LIMITS_FORM}`,
        read: readLimitsChange,
      },
      card_limits: {
        flag: '--card-limits <limits>',
        help: 'limits of each card that does not set the limit itself',
        read: readLimitsChange,
      },
      funding_low_threshold: {
        flag: '--funding-low-threshold <amount>',
        help: 'amount below which its funding is low, in minor units; none removes it',
        read: readThreshold,
      },
      ...METADATA_CHANGE_OPTIONS,
      ...VERSION_OPTION,
    },
    notes: LIMITS_CHANGE_NOTES,
    run: async (
      { service, show },
      { limits, card_limits, metadata, removed, clear, ifMatch, ...fields },
      programId,
    ) => {
      const body = {
        ...fields,
        limits: limits?.patch,
        card_limits: card_limits?.patch,
        metadata: metadataPatch({ metadata, removed, clear }),
      };
      const updated = await service.programs.update(programId, body, { ifMatch });
      show(updated, programPairs(updated));
    },
  });
}

function readThreshold(text: string): number | null {
  return text === 'none' ? null : readWholeNumber(text);
}

export const addFunding: AddCommands = (program, context) => {
  addMovement(program, context, 'deposits', "deposit money into a card program's funding account");
  addMovement(program, context, 'withdrawals', "withdraw money from a card program's funding account");
  addList<FundingMovementRecord, Omit<SearchFundingMovementsQuery, 'limit' | 'cursor'>>(program, context, {
    name: 'movements',
    description: 'list the deposits and withdrawals of all card programs, newest first',
    options: {
      ...TIME_OPTIONS,
      kind: { flag: '--kind <kind>', help: 'filter by kind', choices: ['deposit', 'withdrawal'] },
      program_id: { flag: '--program <program_id>', help: 'filter by card program' },
    },
    columns: ['program_id', ...MOVEMENT_COLUMNS],
    list: (service, query) => service.movements.search(query),
    empty: { text: 'No deposits or withdrawals.', filtered: [['all deposits and withdrawals', 'movements']] },
  });
};

type MovementOptions = { readonly program?: string; readonly amount: TypedAmount };

function addMovement(
  program: Command,
  context: CommandContext,
  resource: 'deposits' | 'withdrawals',
  description: string,
): void {
  addCommand<Omit<FundingMovementBody, 'amount'> & KeyOption & MovementOptions>(
    program.command(resource).description(description),
    context,
    {
      name: 'create',
      description,
      options: {
        program: { flag: '--program <program_id>', help: 'card program; required' },
        amount: { flag: '--amount <amount>', help: AMOUNT_HELP, required: true, read: readAmount },
        currency: { flag: '--currency <code>', help: "ISO 4217 code (default: the card program's)" },
        description: { flag: '--description <text>', help: 'free text, such as the bank reference' },
        reference: {
          flag: '--reference <text>',
          help: 'your reference, unique among the deposits and withdrawals of the card program',
        },
        metadata: METADATA_OPTION,
        ...KEY_OPTION,
      },
      run: async (session, { program: _, idempotencyKey, amount, ...rest }) => {
        const programId = programOf(session);
        const body = { ...rest, ...amountFields(amount, rest.currency) };
        showMoved(session, await session.service[resource].create(programId, body, { idempotencyKey }));
      },
    },
  );
}

function fundingAvailable(program: ProgramRecord): string {
  return program.funding.map(({ available, currency }) => money(available, currency)).join(', ');
}

function programPairs({ funding, ...rest }: ProgramAsOf): Pair[] {
  const accounts = funding.flatMap(({ balance, available, balance_as_of: then, currency }): Pair[] => [
    [`funding.${currency}.balance`, money(balance, currency)],
    [`funding.${currency}.available`, money(available, currency)],
    ...(then === undefined ? [] : ([[`funding.${currency}.balance_as_of`, money(then, currency)]] as const)),
  ]);
  return [...pairsOf(rest), ...accounts];
}
