import { InvalidArgumentError } from 'commander';
import { isTypeOrGroup } from '../domain/event.ts';
import { formatMoney } from '../domain/ledger/money.ts';
import { printable } from '../domain/printable-text.ts';
import type {
  EventStreamOptions,
  EventTypeOrGroup,
  OperatorEventRecord,
  ReceivedEvent,
  StreamRetry,
  TransferServiceEvent,
} from '../sdk/client.ts';
import { type OptionsFor, readWholeNumber } from './command.ts';
import type { Session } from './session.ts';
import { plainTime } from './times.ts';

/** The events that a command reads as they happen. */
export type ReadOptions = Pick<EventStreamOptions, 'after' | 'types' | 'subjectId'>;

export const READ_OPTIONS: OptionsFor<ReadOptions> = {
  after: {
    flag: '--after <position>',
    help: 'start after this position; 0 for all (default: now)',
    read: readWholeNumber,
  },
  types: {
    flag: '--type <type>',
    help: 'only this type, or "transfer.*"; separate several with commas',
    read: (types, before) => [...(before ?? []), ...types.split(',').map(readType)],
  },
  subjectId: { flag: '--subject <id>', help: 'only events about this subject' },
};

/** Refuses a misspelled type, which would never match an event. */
function readType(text: string): EventTypeOrGroup {
  if (!isTypeOrGroup(text)) {
    throw new InvalidArgumentError('It must be a type such as transfer.completed or "transfer.*".');
  }
  return text as EventTypeOrGroup;
}

/** How to read events of one kind, and the number that orders them. */
type Reading<Event> = {
  readonly stream: (options: EventStreamOptions) => AsyncIterable<Event>;
  readonly readLast: (signal: AbortSignal) => Promise<number>;
  readonly placeOf: (event: Event) => number;
};

export function programEvents({ service }: Session): Reading<TransferServiceEvent> {
  return {
    stream: (options) => service.events.stream(options),
    readLast: async (signal) => (await service.events.list({ limit: 1 }, { signal })).position,
    placeOf: ({ position }) => position,
  };
}

/** Reads the events of the card program, with each event's text as the service sent it. */
export function programEventsWithText(session: Session): Reading<ReceivedEvent<TransferServiceEvent>> {
  return {
    ...programEvents(session),
    stream: (options) => session.service.events.streamWithText(options),
    placeOf: ({ event }) => event.position,
  };
}

export function allEvents({ service }: Session): Reading<OperatorEventRecord> {
  return {
    stream: (options) => service.events.streamAllPrograms(options),
    readLast: async (signal) => (await service.events.search({ limit: 1 }, { signal })).number,
    placeOf: ({ number }) => number,
  };
}

/**
 * Reads events until the user ends the command. Reports on standard error after which position it begins, when the
 * connection is lost, and how to continue after the last event. A rejection of `onEvent` ends the reading.
 */
export async function readEvents<Event>(
  { untilEnded, writeError }: Session,
  { stream, readLast, placeOf }: Reading<Event>,
  options: ReadOptions,
  onEvent: (event: Event, signal: AbortSignal) => Promise<void> | void,
): Promise<void> {
  const signal = untilEnded();
  let place = options.after;
  try {
    place ??= await readLast(signal);
    writeError(`Reading events after ${place}. Press Ctrl-C to stop.\n`);
    const onRetry = retryReporter(writeError, ({ position }) => `Continuing after ${position}`);
    for await (const event of stream({ ...options, after: place, signal, onRetry })) {
      await onEvent(event, signal);
      place = placeOf(event);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (place !== undefined) writeError(`To continue: --after ${place}\n`);
  }
}

type Reported = Pick<StreamRetry, 'position' | 'waitMilliseconds'> & { readonly error: unknown };

/** The same failure is reported once a minute, so that a night without the service does not fill the terminal. */
const REPORT_INTERVAL_MILLISECONDS = 60_000;

/** Reports a failure that does not end the command. `next` says how it continues. */
export function retryReporter(
  writeError: (text: string) => void,
  next: (retry: Pick<StreamRetry, 'position'>) => string,
): (retry: Reported) => void {
  let reported = '';
  let reportedAt = 0;
  return ({ error, position, waitMilliseconds }) => {
    const message = error instanceof Error ? error.message : String(error);
    const what = `${printable(message)} ${next({ position })}`;
    if (what === reported && performance.now() - reportedAt < REPORT_INTERVAL_MILLISECONDS) return;
    reported = what;
    reportedAt = performance.now();
    writeError(`${what} in ${(waitMilliseconds / 1000).toFixed(1)} s.\n`);
  };
}

/** The length of the longest known type, so that the text after it is aligned. */
const TYPE_WIDTH = 18;
/** The width that aligns positions below a million. */
const POSITION_WIDTH = 6;

export function eventHead({ position, type, subject_id }: TransferServiceEvent): string {
  return printable(`${String(position).padStart(POSITION_WIDTH)}  ${type.padEnd(TYPE_WIDTH)}  ${subject_id}`);
}

/** Formats an event on one line, with a short summary. */
export function eventLine(event: TransferServiceEvent): string {
  return `${[plainTime(event.created_at), eventHead(event), summaryOf(event)].map(printable).join('  ').trimEnd()}\n`;
}

export function operatorEventLine(event: OperatorEventRecord): string {
  const number = String(event.number).padStart(POSITION_WIDTH);
  return `${number}  ${printable(event.program_id ?? 'service')}  ${eventLine(event)}`;
}

/** What happened, in a few words. */
function summaryOf(event: TransferServiceEvent): string {
  switch (event.type) {
    case 'switch.changed':
      return event.data.disabled ? 'disabled' : 'enabled';
    case 'funding.low':
      return `${amountText(event.data.available, event.data.currency)} available`;
    case 'error.recorded':
      return `${event.data.count} × ${event.data.error.Code}`;
    case 'transfer.failed':
    case 'transfer.late_approval':
      return [summaryOfData(event.data), event.data.error?.Code ?? ''].join('  ');
    default:
      return summaryOfData(event.data);
  }
}

function summaryOfData(data: unknown): string {
  const { amount, currency, card_id, name }: Readonly<Record<string, unknown>> = Object(data);
  const money = typeof amount === 'number' && typeof currency === 'string' ? amountText(amount, currency) : '';
  const other = typeof card_id === 'string' ? card_id : name;
  return [money, typeof other === 'string' ? other : ''].filter((word) => word !== '').join('  ');
}

function amountText(amount: number, currency: string): string {
  return Number.isSafeInteger(amount) ? formatMoney(BigInt(amount), currency) : String(amount);
}
