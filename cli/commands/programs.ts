import type { Command } from 'commander';
import type { ProgramRecord } from '../../sdk/client.ts';
import { type Column, money, type Pair, pairsOf } from '../output.ts';
import {
  type AddCommands,
  addPageOptions,
  type KeyOption,
  keyOption,
  openSession,
  type PageOptions,
  replayPairs,
  showList,
} from '../session.ts';
import { LIMITS_CHANGE_NOTE, LIMITS_FORM, type LimitsChange, readLimitsChange } from './limits.ts';

type CreateOptions = KeyOption & { readonly name: string; readonly currency: string; readonly timeZone?: string };

type UpdateOptions = {
  readonly name?: string;
  readonly limits?: LimitsChange;
  readonly cardLimits?: LimitsChange;
};

const COLUMNS: readonly Column<ProgramRecord>[] = [
  { heading: 'program_id', show: (program) => program.program_id },
  { heading: 'name', show: (program) => program.name },
  { heading: 'currency', show: (program) => program.currency },
  { heading: 'funding available', show: fundingAvailable, right: true },
];

function fundingAvailable(program: ProgramRecord): string {
  return program.funding.map(({ available, currency }) => money(available, currency)).join(', ');
}

function programPairs({ funding, ...rest }: ProgramRecord): Pair[] {
  const accounts = funding.flatMap(({ balance, available, currency }): Pair[] => [
    [`funding.${currency}.balance`, money(balance, currency)],
    [`funding.${currency}.available`, money(available, currency)],
  ]);
  return [...pairsOf(rest), ...accounts];
}

/** Adds `programs create | get | list | update`. */
export const addPrograms: AddCommands = (program, surroundings) => {
  const programs = program.command('programs').description('card programs');
  programs
    .command('create')
    .description('create a card program')
    .requiredOption('--name <text>', 'its name')
    .requiredOption('--currency <code>', 'of its cards, such as USD')
    .addOption(keyOption())
    .option('--time-zone <name>', 'where its days begin, such as Europe/Paris; UTC if left out')
    .action(async (options: CreateOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const { name, currency, timeZone, idempotencyKey } = options;
      const created = await session.service.programs.create(
        { name, currency, time_zone: timeZone },
        { idempotencyKey },
      );
      session.showRecord(created, [...programPairs(created), ...replayPairs(created)]);
    });
  programs
    .command('get')
    .description('show a card program and its funding')
    .argument('<program_id>', 'its id, prog_...')
    .action(async (programId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      const found = await session.service.programs.get(programId);
      session.showRecord(found, programPairs(found));
    });
  addPageOptions(programs.command('list').description('list card programs, newest first')).action(
    async (options: PageOptions, command: Command) => {
      const session = openSession(command, surroundings);
      await showList(session, COLUMNS, options, (page) => session.service.programs.list(page));
    },
  );
  programs
    .command('update')
    .description('change its name and its limits; what is left out stays as it is')
    .argument('<program_id>', 'its id, prog_...')
    .option('--name <text>', 'its name')
    .option('--limits <limits>', `of all cards together: ${LIMITS_FORM}`, readLimitsChange)
    .option('--card-limits <limits>', 'of each card that has no limit of its own of that name', readLimitsChange)
    .addHelpText('after', LIMITS_CHANGE_NOTE)
    .action(async (programId: string, options: UpdateOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const { name, limits, cardLimits } = options;
      const updated = await session.service.programs.update(programId, {
        name,
        limits: limits?.patch,
        card_limits: cardLimits?.patch,
      });
      session.showRecord(updated, programPairs(updated));
    });
};
