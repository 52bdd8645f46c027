import { closeSync, openSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { InvalidArgument } from '../../sdk/client.ts';
import { type AddCommands, addCommand, KEY_OPTION, type KeyOption, readWholeNumber } from '../command.ts';
import { runAdministration } from '../host/commands.ts';
import type { CommandContext } from '../session.ts';
import { addSandboxAnswer } from './support/cases.ts';

const SECONDS_IN: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export const addSandbox: AddCommands = (program, context) => {
  const sandbox = program
    .command('sandbox')
    .description('reset the sandbox, simulate a database failure, move the clock, or play support and processor');
  addCommand<KeyOption>(sandbox, context, {
    name: 'clock <ahead>',
    argument: 'offset from the current time: seconds, or a value such as 90m, 36h or 8d',
    description: 'move the clock ahead: holds expire, limits reset, scheduled transfers are executed',
    options: KEY_OPTION,
    run: async ({ service, show }, { idempotencyKey }, ahead) =>
      show(await service.sandbox.moveClock({ seconds_ahead: readDuration(ahead) }, { idempotencyKey })),
  });
  addSandboxAnswer(sandbox, context);
  addCommand<{ readonly plant?: string }>(sandbox, context, {
    name: 'settlement-file',
    description: 'write the settlement file that the simulator would send, and print its path',
    notes: SETTLEMENT_NOTES,
    options: { plant: { flag: '--plant <differences>', help: 'differences to plant, separated by commas' } },
    run: (session, { plant = '' }) => runAdministration(session, 'sandbox-settlement', plant),
  });
  addCommand<{ readonly cards?: number }>(sandbox, context, {
    name: 'move-in-files',
    description: 'write files of an old ledger to this folder, to rehearse a move-in: friday.csv and sunday.csv',
    notes: MOVE_IN_NOTES,
    options: {
      cards: { flag: '--cards <number>', help: 'cards in friday.csv, 3 to 1,000,000 (default: 3)', read: readCards },
    },
    run: ({ showText }, { cards = MIN_CARDS }) => {
      const paths = DAYS.map((day) => writeDay(day, cards));
      showText({ paths }, `${paths.join('\n')}\n`);
    },
  });
  addReset(sandbox, context);
  const database = sandbox.command('database').description("the sandbox's database server");
  addCommand(database, context, {
    name: 'stop',
    description: 'stop the database server, to see how the service responds',
    run: async ({ service, show }) => show(await service.sandbox.stopDatabase()),
  });
  addCommand(database, context, {
    name: 'start',
    description: 'start the database server again',
    run: async ({ service, show }) => show(await service.sandbox.startDatabase()),
  });
};

const SETTLEMENT_NOTES = `
Runs in the folder of the sandbox. The file has every order that no earlier file
has. The differences that you can plant, each in one order:
  amount             the line has a different amount
  duplicate          the line occurs twice
  missing_in_ledger  an extra line, about an unknown order
  missing_in_file    the line is missing; the next file has it`;

const MOVE_IN_NOTES = `
On Sunday, a hotel has captured its hold on the first card, the second card has
paid 3.00 USD, and there is one card more. With more than three cards, every
tenth of the others has a hold.`;

const RESET_NOTES = `
Runs on the service's host, with the service's settings, while no
service runs. Removes cards, transfers, keys, events and errors; the next start
makes a new sandbox. With DATABASE_URL, it removes only what the service has
created in its schema. It never removes a live ledger.`;

function addReset(sandbox: Command, context: CommandContext): void {
  addCommand<{ readonly yes?: boolean }>(sandbox, context, {
    name: 'reset',
    description: 'remove the sandbox ledger; the next start creates a new one',
    options: { yes: { flag: '--yes', help: 'do not ask for confirmation' } },
    notes: RESET_NOTES,
    run: async (session, { yes }) => {
      if (yes !== true && session.confirm === undefined) {
        throw new InvalidArgument('to reset without confirmation, such as in a script, add --yes');
      }
      await runAdministration(session, 'sandbox-reset', yes === true ? 'sure' : 'ask');
    },
  });
}

const DAYS = ['friday', 'sunday'] as const;

const MIN_CARDS = 3;
const MAX_CARDS = 1_000_000;

function readCards(text: string): number {
  const cards = readWholeNumber(text);
  if (cards >= MIN_CARDS && cards <= MAX_CARDS) return cards;
  throw new InvalidArgument(`--cards is ${text}, and must be 3 to 1,000,000`);
}

type SampleCard = {
  readonly balance: number;
  readonly status?: 'inactive';
  readonly hold?: { readonly amount: number; readonly reference: string };
};

/** The first cards of each day. The guide tells their story. */
const FIRST_CARDS: Readonly<Record<(typeof DAYS)[number], readonly SampleCard[]>> = {
  friday: [
    { balance: 12_500, hold: { amount: 2000, reference: 'hotel-77' } },
    { balance: 800, hold: { amount: 500, reference: 'fuel-12' } },
    { balance: 0, status: 'inactive' },
  ],
  sunday: [
    { balance: 10_500 },
    { balance: 500, hold: { amount: 500, reference: 'fuel-12' } },
    { balance: 0, status: 'inactive' },
  ],
};

const HOLD_MILLISECONDS = 5 * 86_400_000;

/** Writes the file of a day to the current folder, in parts. Returns its name. Refuses to replace a file. */
function writeDay(day: (typeof DAYS)[number], count: number): string {
  const path = `${day}.csv`;
  const file = openNew(path);
  const expiresAt = new Date(Date.now() + HOLD_MILLISECONDS).toISOString();
  const sums = { cards: 0, balance: 0, held: 0 };
  const holds: string[] = [];
  const write = (lines: readonly string[]) => writeSync(file, lines.map((line) => `${line}\n`).join(''));
  write(['kind,card_id,currency,balance,status,amount,expires_at,reference,idempotency_key,cards,holds,held']);
  for (let index = 0; index < count + (day === 'sunday' ? 1 : 0); index += 1) {
    const name = `card-${1001 + index}`;
    const { balance, status = 'active', hold } = cardAt(day, index, count);
    write([`card,${name},USD,${balance},${status},,,,,,,`]);
    sums.cards += 1;
    sums.balance += balance;
    if (hold === undefined) continue;
    holds.push(`hold,${name},,,,${hold.amount},${expiresAt},${hold.reference},,,,`);
    sums.held += hold.amount;
  }
  write(holds);
  if (day === 'friday') write(['transfer,card-1001,,,,,,salary-88,request-88,,,']);
  write([`total,,USD,${sums.balance},,,,,,${sums.cards},${holds.length},${sums.held}`]);
  closeSync(file);
  return path;
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'EEXIST' ? 'it exists already' : String(error);
    throw new InvalidArgument(`${path} cannot be written: ${reason}`);
  }
}

function cardAt(day: (typeof DAYS)[number], index: number, count: number): SampleCard {
  const first = FIRST_CARDS[day][index];
  if (first !== undefined) return first;
  if (index === count) return { balance: 2500 };
  const hold = { amount: 50, reference: `hold-${index}` };
  return { balance: 100 * (1 + (index % 100)), ...(index % 10 === 0 && { hold }) };
}

/** Reads a duration, and returns it in seconds. */
function readDuration(text: string): number {
  const [, digits, unit] = /^([0-9]{1,9})([smhd]?)$/.exec(text) ?? [];
  if (digits === undefined) {
    throw new InvalidArgument(
      `'${text}' is not a duration: give a number of seconds, or a value such as 90m, 36h or 8d`,
    );
  }
  return Number(digits) * (SECONDS_IN[unit ?? ''] ?? 1);
}
