import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ReversalRecord } from '../../sdk/client.ts';
import { type Column, given, money } from '../output.ts';
import {
  addKeyOption,
  addPageOptions,
  moneyPairs,
  openSession,
  type PageOptions,
  type Surroundings,
  showList,
} from '../session.ts';

type MoneyOptions = { readonly amount?: string; readonly idempotencyKey?: string };

type UpdateOptions = {
  readonly metadata?: Record<string, string>;
  readonly removeMetadata?: Record<string, null>;
  readonly clearMetadata?: true;
};

const COLUMNS: readonly Column<ReversalRecord>[] = [
  { heading: 'reversal_id', show: (reversal) => reversal.reversal_id },
  { heading: 'amount', show: (reversal) => money(reversal.amount, reversal.currency), right: true },
  { heading: 'status', show: (reversal) => reversal.status },
  { heading: 'created_at', show: (reversal) => reversal.created_at },
  { heading: 'description', show: (reversal) => reversal.description },
];

/** Adds `transfers capture | cancel | reverse | reversals | reversal | update`: what can be done with a transfer. */
export function addTransferChanges(transfers: Command, surroundings: Surroundings): void {
  addCapture(transfers, surroundings);
  addCancel(transfers, surroundings);
  addReverse(transfers, surroundings);
  addReversals(transfers, surroundings);
  addUpdate(transfers, surroundings);
}

function addChange(transfers: Command, verb: string, description: string): Command {
  return transfers.command(verb).description(description).argument('<transfer_id>', 'its id, tr_...');
}

function addCapture(transfers: Command, surroundings: Surroundings): void {
  const capture = addChange(transfers, 'capture', 'move what a transfer holds, once; what is left of it is released');
  addKeyOption(capture.option('--amount <amount>', 'in minor units; all that is held if left out')).action(
    async (transferId: string, { amount, idempotencyKey }: MoneyOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const captured = await session.service.transfers.capture(transferId, given({ amount }), { idempotencyKey });
      session.showRecord(captured, moneyPairs(captured));
    },
  );
}

function addCancel(transfers: Command, surroundings: Surroundings): void {
  const cancel = addChange(transfers, 'cancel', 'end a scheduled or pending transfer; what it holds is released');
  addKeyOption(cancel).action(async (transferId: string, { idempotencyKey }: MoneyOptions, command: Command) => {
    const session = openSession(command, surroundings);
    const canceled = await session.service.transfers.cancel(transferId, { idempotencyKey });
    session.showRecord(canceled, moneyPairs(canceled));
  });
}

function addReverse(transfers: Command, surroundings: Surroundings): void {
  const reverse = addChange(transfers, 'reverse', 'move the money of a completed transfer back')
    .option('--amount <amount>', 'in minor units; all that is left if left out')
    .option('--description <text>', 'why');
  addKeyOption(reverse).action(
    async (transferId: string, options: MoneyOptions & { readonly description?: string }, command: Command) => {
      const session = openSession(command, surroundings);
      const { amount, description, idempotencyKey } = options;
      const reversal = await session.service.transfers.reverse(transferId, given({ amount, description }), {
        idempotencyKey,
      });
      session.showRecord(reversal, moneyPairs(reversal));
    },
  );
}

function addReversals(transfers: Command, surroundings: Surroundings): void {
  addPageOptions(addChange(transfers, 'reversals', 'list the reversals of a transfer, newest first')).action(
    async (transferId: string, options: PageOptions, command: Command) => {
      const session = openSession(command, surroundings);
      await showList(session, COLUMNS, options, (page) => session.service.transfers.reversals(transferId, page));
    },
  );
  transfers
    .command('reversal')
    .description('show a reversal')
    .argument('<reversal_id>', 'its own id, rev_...')
    .action(async (reversalId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.transfers.reversal(reversalId));
    });
}

function addUpdate(transfers: Command, surroundings: Surroundings): void {
  addChange(transfers, 'update', 'change the metadata of a transfer; pairs that are not named stay')
    .option('--metadata <name=value>', 'a pair to set; can be repeated', readPair)
    .option('--remove-metadata <name>', 'the name of a pair to remove; can be repeated', readName)
    .addOption(new Option('--clear-metadata', 'remove all pairs').conflicts(['metadata', 'removeMetadata']))
    .action(async (transferId: string, options: UpdateOptions, command: Command) => {
      const { metadata, removeMetadata, clearMetadata } = options;
      if (metadata === undefined && removeMetadata === undefined && clearMetadata === undefined) {
        return command.error('error: give --metadata, --remove-metadata, or --clear-metadata');
      }
      const session = openSession(command, surroundings);
      const change = clearMetadata ? null : { ...metadata, ...removeMetadata };
      session.showRecord(await session.service.transfers.update(transferId, { metadata: change }));
    });
}

function readName(name: string, before: Record<string, null> | undefined): Record<string, null> {
  if (name === '') throw new InvalidArgumentError('It must be the name of a pair.');
  return Object.fromEntries([...Object.entries(before ?? {}), [name, null]]);
}

/** Reads a pair of metadata beside those that were given before it. Throws InvalidArgumentError if it is none. */
export function readPair(text: string, before: Record<string, string> | undefined): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be a name, "=" and a value.');
  return Object.fromEntries([...Object.entries(before ?? {}), [text.slice(0, at), text.slice(at + 1)]]);
}
