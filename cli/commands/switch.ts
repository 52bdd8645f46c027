import type { Command } from 'commander';
import { printable } from '../../domain/printable-text.ts';
import { type ChangeSwitchBody, type SwitchPreview, type SwitchRecord, TRANSFER_TYPES } from '../../sdk/client.ts';
import { type AddCommands, addCommand, KEY_OPTION, type KeyOption, type OptionsFor } from '../command.ts';
import { alignedLines, type Column, table } from '../output.ts';
import { type CommandContext, showChanged } from '../session.ts';
import { plainTime, readLater } from '../times.ts';

export const SETTING_COLUMNS: readonly Column<SwitchRecord>[] = [
  'scope',
  'program_id',
  'type',
  'connector_id',
  'disabled',
  'since',
  'until',
  'actor',
  'reason',
];

const SCOPE_NOTES = `
Without --program and --connector the command applies to the whole service. It
ignores TRANSFER_SERVICE_PROGRAM.`;

type ScopeOptions = KeyOption & Pick<ChangeSwitchBody, 'program_id' | 'type' | 'connector_id'>;

const SCOPE_OPTIONS: OptionsFor<ScopeOptions> = {
  program_id: { flag: '--program <program_id>', help: 'only this card program' },
  type: {
    flag: '--type <type>',
    help: 'only this type of transfer; needs --program or --connector',
    choices: TRANSFER_TYPES,
  },
  connector_id: { flag: '--connector <name>', help: 'only transfers at this connector to a processor' },
  ...KEY_OPTION,
};

export const addSwitch: AddCommands = (program, context) => {
  const parent = program.command('switch').description('disable and enable transfers');
  addCommand(parent, context, {
    name: 'show',
    description: 'show what is disabled, who disabled it, when and why',
    run: async ({ service, showText, width }) => {
      const state = await service.switch.get();
      showText(state, state.data.length === 0 ? 'Nothing is disabled.\n' : table(SETTING_COLUMNS, state.data, width));
    },
  });
  addCommand<Omit<ScopeOptions, keyof KeyOption>>(parent, context, {
    name: 'preview',
    description: 'show what disabling would stop, and what would continue',
    options: {
      program_id: SCOPE_OPTIONS.program_id,
      type: SCOPE_OPTIONS.type,
      connector_id: SCOPE_OPTIONS.connector_id,
    },
    notes: SCOPE_NOTES,
    run: async ({ service, showText }, scope) => {
      const preview = await service.switch.preview(scope);
      showText(preview, describePreview(preview));
    },
  });
  addDisable(parent, context);
  addCommand<ScopeOptions & { readonly reason?: string }>(parent, context, {
    name: 'enable',
    description: 'enable the service, a card program, one type of transfer, or a connector',
    options: { ...SCOPE_OPTIONS, reason: { flag: '--reason <text>', help: 'why' } },
    notes: SCOPE_NOTES,
    run: async (session, { idempotencyKey, ...body }) =>
      showChanged(session, await session.service.switch.enable(body, { idempotencyKey })),
  });
};

function addDisable(parent: Command, context: CommandContext): void {
  addCommand<ScopeOptions & { readonly reason: string; readonly until?: string }>(parent, context, {
    name: 'disable',
    description: 'disable the service, a card program, one type of transfer, or a connector',
    options: {
      ...SCOPE_OPTIONS,
      reason: { flag: '--reason <text>', help: 'why', required: true },
      until: {
        flag: '--until <time>',
        help: 'when to enable it again: "2030-01-31 12:00" in UTC, or 2h from now',
        read: readLater,
      },
    },
    notes: SCOPE_NOTES,
    run: async (session, { idempotencyKey, ...body }) =>
      showChanged(session, await session.service.switch.disable(body, { idempotencyKey })),
  });
}

function describePreview(preview: SwitchPreview): string {
  const { programs, last_hour: hour, last_day: day, scheduled, stops, goes_on: goesOn, in_force: inForce } = preview;
  const head = alignedLines([
    ['scope', preview.connector_id === null ? preview.scope : `${preview.scope} ${preview.connector_id}`],
    ['card programs', String(programs.count)],
    [`transfers since ${plainTime(hour.since)}`, countText(hour)],
    [`transfers since ${plainTime(day.since)}`, countText(day)],
    [
      'scheduled transfers',
      `${scheduled.at_least ? 'at least ' : ''}${scheduled.transfers}, ${scheduled.within_day} of them due within 24 hours`,
    ],
    ['disabled now', inForce.length === 0 ? 'no' : `yes, by ${inForce.length} of the settings`],
  ]);
  const lines = (title: string, texts: readonly string[]): string =>
    `\n${title}\n${texts.map((text) => `  ${printable(text)}\n`).join('')}`;
  return `${head}${lines('Stops:', stops)}${lines('Continues:', goesOn)}`;
}

function countText({ transfers, at_least: atLeast }: SwitchPreview['last_hour']): string {
  return `${atLeast ? 'at least ' : ''}${transfers}`;
}
