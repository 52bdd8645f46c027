import type { Command } from 'commander';
import { type AddCommands, openSession } from './session.ts';

/** Adds `sandbox database stop | start`. */
export const addSandbox: AddCommands = (program, surroundings) => {
  const sandbox = program.command('sandbox').description('make a sandbox fail on purpose');
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
