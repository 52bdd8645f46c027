import type { Command } from 'commander';
import type { Session } from '../session.ts';
import { type AddCommands, keyOption, moneyPairs, openSession, type Surroundings } from '../session.ts';

type CreateOptions = {
  readonly amount: string;
  readonly currency?: string;
  readonly description?: string;
  readonly idempotencyKey?: string;
};

type Noun = 'deposits' | 'withdrawals';

/** Adds `deposits create` and `withdrawals create`. */
export const addFunding: AddCommands = (program, surroundings) => {
  addMovement(program, surroundings, 'deposits', "bring money to a card program's funding");
  addMovement(program, surroundings, 'withdrawals', "take money out of a card program's funding");
};

function addMovement(program: Command, surroundings: Surroundings, noun: Noun, description: string): void {
  program
    .command(noun)
    .description(description)
    .command('create')
    .description(description)
    .option('--program <program_id>', 'the card program; it must be named')
    .requiredOption('--amount <amount>', 'in minor units: 1000 is 10.00 USD')
    .option('--currency <code>', "the program's if left out")
    .option('--description <text>', 'free text, such as the bank reference')
    .addOption(keyOption())
    .action(async (options: CreateOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const { amount, currency, description: text, idempotencyKey } = options;
      const body = { amount, currency, description: text };
      const programId = programOf(session, command);
      const movement = await session.service[noun].create(programId, body, { idempotencyKey });
      session.showRecord(movement, moneyPairs(movement));
    });
}

function programOf(session: Session, command: Command): string {
  return session.program ?? command.error('error: name the card program with --program or TRANSFER_SERVICE_PROGRAM');
}
