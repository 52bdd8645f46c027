import type { Command } from 'commander';
import { InvalidArgument } from '../../sdk/client.ts';
import { type AddCommands, addCommand, KEY_OPTION, type KeyOption } from '../command.ts';
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
