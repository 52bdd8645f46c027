import { type Command, InvalidArgumentError } from 'commander';
import { type AddCommands, addKeyOption, type KeyOption, openSession } from '../session.ts';

const SECONDS_IN: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Adds `sandbox database stop | start` and `sandbox clock`. */
export const addSandbox: AddCommands = (program, surroundings) => {
  const sandbox = program.command('sandbox').description('make a sandbox fail on purpose, and let time pass');
  addKeyOption(sandbox.command('clock'))
    .description('set its clock ahead: holds expire, limits free, what is due is done')
    .argument('<ahead>', 'ahead of the time of day: seconds, or such as 90m, 36h, 8d', readDuration)
    .action(async (ahead: number, { idempotencyKey }: KeyOption, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.sandbox.moveClock({ seconds_ahead: ahead }, { idempotencyKey }));
    });
  const database = sandbox.command('database').description("the sandbox's database server");
  database
    .command('stop')
    .description('really stop it, to see what the service answers then')
    .action(async (_options: object, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.sandbox.stopDatabase());
    });
  database
    .command('start')
    .description('start it again')
    .action(async (_options: object, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.sandbox.startDatabase());
    });
};

/** A length of time in seconds. */
function readDuration(text: string): number {
  const [, digits, unit] = /^([0-9]{1,9})([smhd]?)$/.exec(text) ?? [];
  if (digits === undefined)
    throw new InvalidArgumentError('It must be a number of seconds, or such as 90m, 36h or 8d.');
  return Number(digits) * (SECONDS_IN[unit ?? ''] ?? 1);
}
