import type { Command } from 'commander';
import { printableJson } from '../../../domain/printable-text.ts';
import { addCommand } from '../../command.ts';
import { eventLine, operatorEventLine } from '../../event-line.ts';
import { allEvents, programEvents, READ_OPTIONS, type ReadOptions, readEvents } from '../../read-events.ts';
import type { CommandContext } from '../../session.ts';

const NOTES = `
After a lost connection or a restart of the service it continues where it was,
without missing or repeating an event. Press Ctrl-C to stop.`;

/** Adds `events tail`. */
export function addTail(events: Command, context: CommandContext): void {
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
