import type { Command } from 'commander';
import { printableJson } from '../../../domain/printable-text.ts';
import type {
  FoundEvents,
  ListEventsQuery,
  OperatorEventRecord,
  SearchEventsQuery,
  TransferServiceEvent,
} from '../../../sdk/client.ts';
import {
  type AddCommands,
  addCommand,
  addList,
  type OptionsFor,
  PAGE_OPTIONS,
  readWholeNumber,
} from '../../command.ts';
import type { Column } from '../../output.ts';
import {
  allEvents,
  eventLine,
  operatorEventLine,
  programEvents,
  READ_OPTIONS,
  type ReadOptions,
  readEvents,
} from '../../read-events.ts';
import { type CommandContext, type PageOptions, pageText, readPages } from '../../session.ts';
import { addListen } from './listen.ts';

type Filters = Omit<ListEventsQuery, 'limit' | 'cursor' | 'wait'>;

const COLUMNS = [
  'position',
  'created_at',
  'type',
  'subject_id',
  'event_id',
] as const satisfies readonly Column<TransferServiceEvent>[];

const SEARCH_COLUMNS: readonly Column<OperatorEventRecord>[] = ['number', ...COLUMNS, 'program_id'];

const FILTER_OPTIONS: OptionsFor<Filters> = {
  after: { flag: '--after <position>', help: 'after this position, oldest first; 0 for all', read: readWholeNumber },
  type: {
    flag: '--type <type>',
    help: 'filter by type, such as transfer.completed or "transfer.*"; separate several with commas',
    read: (types, before) => (before === undefined ? types : `${before},${types}`),
  },
  subject_id: { flag: '--subject <id>', help: 'filter by the subject of the event' },
};

export const addEvents: AddCommands = (program, context) => {
  const events = program.command('events').description('what happened in a card program');
  addList<TransferServiceEvent, Filters>(events, context, {
    name: 'list',
    description: 'list the events of the card program, newest first',
    options: FILTER_OPTIONS,
    columns: COLUMNS,
    list: (service, query) => service.events.list(query),
    empty: {
      text: 'No events.',
      next: [['wait for the next ones', 'events tail']],
      filtered: [['all events', 'events list --after 0']],
    },
  });
  addCommand(events, context, {
    name: 'get <event_id>',
    argument: 'event id, evt_...',
    description: 'show an event of the card program',
    run: async ({ service, show }, _, eventId) => show(await service.events.get(eventId)),
  });
  addTail(events, context);
  addListen(events, context);
  addCommand<Omit<SearchEventsQuery, 'wait'> & PageOptions>(events, context, {
    name: 'search',
    description: 'list the events of all card programs, newest first; for operators',
    options: {
      ...PAGE_OPTIONS,
      ...FILTER_OPTIONS,
      after: { ...FILTER_OPTIONS.after, flag: '--after <number>', help: 'after this number, oldest first; 0 for all' },
      program_id: { flag: '--program <program_id>', help: 'filter by card program' },
    },
    run: async ({ service, showText, width }, { limit, cursor, all, ...filters }) => {
      const found = await readPages<FoundEvents>({ limit, cursor, all }, (page) =>
        service.events.search({ ...filters, ...page }),
      );
      showText(found, pageText(SEARCH_COLUMNS, found, { width, empty: 'No events.\n' }));
    },
  });
  addCommand(events, context, {
    name: 'inspect <event_id>',
    argument: 'event id, evt_...',
    description: 'show any event; for operators',
    run: async ({ service, show }, _, eventId) => show(await service.events.inspect(eventId)),
  });
};

const NOTES = `
After a lost connection or a restart of the service, it continues where it
stopped, without missing or repeating an event. Press Ctrl-C to stop.`;

function addTail(events: Command, context: CommandContext): void {
  addCommand<ReadOptions & { readonly allPrograms?: boolean }>(events, context, {
    name: 'tail',
    description: 'print events as they happen; with --json one JSON record per line',
    options: {
      ...READ_OPTIONS,
      allPrograms: {
        flag: '--all-programs',
        help: 'of all card programs and the service, by number; for operators',
      },
    },
    notes: NOTES,
    run: async (session, { allPrograms = false, ...options }) => {
      const { json, write } = session;
      const print =
        <Event extends object>(lineOf: (event: Event) => string) =>
        (event: Event): void =>
          write(json ? `${printableJson(event)}\n` : lineOf(event));
      if (allPrograms) await readEvents(session, allEvents(session), options, print(operatorEventLine));
      else await readEvents(session, programEvents(session), options, print(eventLine));
    },
  });
}
