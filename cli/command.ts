import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Page, PageQuery, TransferService } from '../sdk/client.ts';
import type { Column } from './output.ts';
import {
  type CommandContext,
  emptyText,
  type GlobalOptions,
  openSession,
  type PageOptions,
  pageText,
  readPages,
  type Session,
} from './session.ts';
import { readEarlier } from './times.ts';

export type AddCommands = (program: Command, context: CommandContext) => void;

/** An option. `Value` is the type of the value that it sets. */
type OptionSpec<Value> = {
  /** As commander writes it: `--card <card_id>`. */
  readonly flag: string;
  readonly help: string;
  readonly choices?: readonly (Value & string)[];
  /** Reads the text, given the value of an earlier use of the option. Throws InvalidArgumentError. */
  readonly read?: (text: string, before: Value | undefined) => Value;
  readonly conflicts?: readonly string[];
};

/** The options that set the fields of `Values`, often a request's fields. Every field has an option. */
export type OptionsFor<Values> = {
  readonly [Name in keyof Values]-?: OptionSpec<Exclude<Values[Name], undefined>> &
    (Record<never, never> extends Pick<Values, Name> ? { readonly required?: never } : { readonly required: true });
};

type CommandDefinition<Values> = {
  /** The name of the command, with its argument if it has one: `get <card_id>`. */
  readonly name: string;
  readonly alias?: string;
  readonly description: string;
  readonly argument?: string;
  readonly options?: OptionsFor<Values>;
  readonly notes?: string;
  readonly run: (session: Session, values: Values, argument: string) => Promise<void> | void;
};

/** Adds a command. `run` gets only the given options, by the names of their fields. */
export function addCommand<Values extends object = Record<never, never>>(
  parent: Command,
  context: CommandContext,
  definition: CommandDefinition<Values>,
): void {
  define(parent, context, definition);
}

type ListDefinition<Item, Filters> = Omit<CommandDefinition<Filters>, 'run'> & {
  readonly columns: readonly Column<Item>[];
  readonly list: (service: TransferService, query: Filters & PageQuery, argument: string) => Promise<Page<Item>>;
  /** The text of an empty list: what is missing, and the commands to run next, each with its purpose. */
  readonly empty: {
    readonly text: string;
    readonly next?: readonly (readonly [purpose: string, command: string])[];
    /** Printed instead of `next` if a filter was given. */
    readonly filtered?: readonly (readonly [purpose: string, command: string])[];
  };
};

export function addList<Item extends object, Filters extends object = Record<never, never>>(
  parent: Command,
  context: CommandContext,
  { columns, list, options, empty, ...definition }: ListDefinition<Item, Filters>,
): void {
  define<Filters & PageOptions>(parent, context, {
    ...definition,
    options: { ...PAGE_OPTIONS, ...options },
    run: async (session, values, argument) => {
      const { service, showText, width } = session;
      // `all` is only for readPages. A field that is undefined is not sent.
      const page = await readPages(values, (position) =>
        list(service, { ...values, ...position, all: undefined }, argument),
      );
      const isFiltered = Object.keys(values).some((name) => !Object.hasOwn(PAGE_OPTIONS, name));
      const { text, next = [], filtered = [] } = empty;
      const nothing = isFiltered
        ? emptyText(session, `${text.replace(/\.$/, '')} match these filters.`, filtered)
        : emptyText(session, text, next);
      showText(page, pageText(columns, page, { width, empty: nothing }));
    },
  });
}

function define<Values extends object>(
  parent: Command,
  context: CommandContext,
  definition: Omit<CommandDefinition<Values>, 'options'> & { readonly options?: object },
): void {
  const { name, alias, description, argument, notes, run } = definition;
  const [commandName = '', argumentName] = name.split(' ');
  const command = parent.command(commandName).description(description);
  const other = alias ?? (commandName === 'get' ? 'show' : commandName === 'show' ? 'get' : undefined);
  if (other !== undefined) command.alias(other);
  if (argumentName !== undefined) command.argument(argumentName, argument);
  if (notes !== undefined) command.addHelpText('after', notes);
  const fields = addOptions(command, definition.options ?? {});
  command.action(async (...[first]: unknown[]) => {
    const given = command.optsWithGlobals<GlobalOptions>();
    const typed = Object.entries(given).flatMap(([attribute, value]) => {
      const field = fields.get(attribute);
      return field === undefined ? [] : [[field, value]];
    });
    // OptionsFor ties each option to the type of its field, so together they produce Values.
    const values = Object.fromEntries(typed) as Values;
    await run(
      openSession(given, context),
      values,
      argumentName === undefined || first === undefined ? '' : String(first),
    );
  });
}

function addOptions(command: Command, options: object): ReadonlyMap<string, string> {
  const specs: [string, OptionSpec<string> & { readonly required?: true }][] = Object.entries(options);
  return new Map(
    specs.map(([field, { flag, help, choices, read, conflicts, required }]) => {
      const option = new Option(flag, help);
      if (read !== undefined) option.argParser(read);
      if (choices !== undefined) option.choices(choices);
      if (conflicts !== undefined) option.conflicts([...conflicts]);
      command.addOption(option.makeOptionMandatory(required ?? false));
      return [option.attributeName(), field];
    }),
  );
}

export const PAGE_OPTIONS: OptionsFor<PageOptions> = {
  limit: { flag: '--limit <number>', help: 'maximum number of results, 1 to 100 (default: 20)', read: readWholeNumber },
  cursor: { flag: '--cursor <cursor>', help: 'next_cursor of the previous page' },
  all: { flag: '--all', help: 'read all pages', conflicts: ['cursor'] },
};

export type KeyOption = { readonly idempotencyKey?: string };

export const KEY_OPTION: OptionsFor<KeyOption> = {
  idempotencyKey: { flag: '--idempotency-key <key>', help: 'makes the request safe to repeat (default: generated)' },
};

export type VersionOption = { readonly ifMatch?: string };

/** `--if-match`. In the shell, the quotation marks of an `ETag` are easily lost. */
export const VERSION_OPTION: OptionsFor<VersionOption> = {
  ifMatch: {
    flag: '--if-match <version>',
    help: 'change it only if this is still its version, which get and show print as etag',
    read: (text) => (/^\*$|"/.test(text) ? text : `"${text}"`),
  },
};

export const TIME_OPTIONS: OptionsFor<{ readonly created_from?: string; readonly created_to?: string }> = {
  created_from: {
    flag: '--from <time>',
    help: 'created at or after this time, in UTC: 2030-01-31, "2030-01-31 12:00", or 6h for six hours ago',
    read: readEarlier,
  },
  created_to: { flag: '--to <time>', help: 'created before this time', read: readEarlier },
};

export type AsOf = { readonly as_of?: string };

export const AS_OF_OPTION: OptionsFor<AsOf> = {
  as_of: {
    flag: '--as-of <time>',
    help: 'also show the balance at this time, at least a minute ago: 2030-01-31, "2030-01-31 12:00", or 6h',
    read: readEarlier,
  },
};

export function readWholeNumber(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
