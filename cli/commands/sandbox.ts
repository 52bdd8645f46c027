import { InvalidArgument } from '../../sdk/client.ts';
import { type AddCommands, addCommand, KEY_OPTION, type KeyOption } from '../command.ts';

const SECONDS_IN: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Adds `sandbox database stop | start` and `sandbox clock`. */
export const addSandbox: AddCommands = (program, context) => {
  const sandbox = program.command('sandbox').description('simulate a database failure, or move the clock');
  addCommand<KeyOption>(sandbox, context, {
    name: 'clock <ahead>',
    argument: 'offset from the current time: seconds, or a value such as 90m, 36h or 8d',
    description: 'move the clock ahead: holds expire, limits reset, scheduled transfers are executed',
    options: KEY_OPTION,
    run: async ({ service, show }, { idempotencyKey }, ahead) =>
      show(await service.sandbox.moveClock({ seconds_ahead: readDuration(ahead) }, { idempotencyKey })),
  });
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

/** A duration in seconds. */
function readDuration(text: string): number {
  const [, digits, unit] = /^([0-9]{1,9})([smhd]?)$/.exec(text) ?? [];
  if (digits === undefined) {
    throw new InvalidArgument(
      `'${text}' is not a duration: give a number of seconds, or a value such as 90m, 36h or 8d`,
    );
  }
  return Number(digits) * (SECONDS_IN[unit ?? ''] ?? 1);
}
