import { type Command, Option } from 'commander';
import { type SwitchRecord, TRANSFER_TYPES } from '../../sdk/client.ts';
import { type Column, given, pairsOf, table, yesOrNo } from '../output.ts';
import {
  type AddCommands,
  type KeyOption,
  keyOption,
  openSession,
  replayPairs,
  type Surroundings,
} from '../session.ts';

type ChangeOptions = KeyOption & {
  readonly type?: (typeof TRANSFER_TYPES)[number];
  readonly reason?: string;
  readonly until?: string;
};

const COLUMNS: readonly Column<SwitchRecord>[] = [
  { heading: 'scope', show: (setting) => setting.scope },
  { heading: 'program_id', show: (setting) => setting.program_id },
  { heading: 'type', show: (setting) => setting.type },
  { heading: 'disabled', show: (setting) => yesOrNo(setting.disabled) },
  { heading: 'since', show: (setting) => setting.since },
  { heading: 'until', show: (setting) => setting.until },
  { heading: 'actor', show: (setting) => setting.actor },
  { heading: 'reason', show: (setting) => setting.reason },
];

const SCOPE = `
Without --program it is about the whole service. TRANSFER_SERVICE_PROGRAM does
not count here: the scope is what is typed.`;

/** Adds `switch show | disable | enable`. */
export const addSwitch: AddCommands = (program, surroundings) => {
  const noun = program.command('switch').description('stop transfers, and let them go on');
  noun
    .command('show')
    .description('show what is disabled, since when, by whom and why')
    .action(async (_options: object, command: Command) => {
      const session = openSession(command, surroundings);
      const state = await session.service.switch.get();
      const text = state.data.length === 0 ? 'Nothing is disabled.\n' : table(COLUMNS, state.data);
      session.showText(state, text);
    });
  addChange(noun, surroundings, true)
    .requiredOption('--reason <text>', 'why')
    .option('--until <time>', 'when it opens again by itself, such as 2030-01-31T12:00:00Z');
  addChange(noun, surroundings, false).option('--reason <text>', 'why');
};

function addChange(noun: Command, surroundings: Surroundings, disabled: boolean): Command {
  const [verb, what] = disabled ? ['disable', 'stop'] : ['enable', 'go on with'];
  return noun
    .command(verb)
    .description(`${what} the service, a card program, or one type of transfer`)
    .option('--program <program_id>', 'only this card program')
    .addOption(new Option('--type <type>', 'only this type; needs --program').choices(TRANSFER_TYPES))
    .addOption(keyOption())
    .addHelpText('after', SCOPE)
    .action(async (options: ChangeOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const { reason, type, until, idempotencyKey } = options;
      // Never the environment's: who stops everything must not stop one program by a forgotten variable.
      const body = given({ disabled, reason, program_id: session.typedProgram, type, until });
      const changed = await session.service.switch.change(body, { idempotencyKey });
      session.showRecord(changed, [...pairsOf(changed), ...replayPairs(changed)]);
    });
}
