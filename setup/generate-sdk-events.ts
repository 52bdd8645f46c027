// Writes sdk/generated/events.ts: a union of all events by type, from the definitions in contract/events/.
import { EVENTS } from '../contract/events/catalogue.ts';
import type { Operation } from '../contract/operation.ts';
import { OPERATIONS as DEFINITIONS, OPERATION_IDS, type OperationId } from '../contract/operations.ts';
import type { SchemaShape } from '../contract/schema-parts.ts';
import { EVENT_TYPES } from '../domain/event.ts';
import { collect, comment, HEAD, objectType, typeOf } from './sdk-types.ts';

/** The definitions, with their schemas as any schema. */
const OPERATIONS: Readonly<Record<OperationId, Operation>> = DEFINITIONS;

/** The text of the file, before it is formatted. */
export function eventsFile(): string {
  const inOperations = new Map<string, SchemaShape>();
  for (const id of OPERATION_IDS) collect(OPERATIONS[id].reply, inOperations);
  const named = new Map<string, SchemaShape>();
  for (const type of EVENT_TYPES) collect(EVENTS[type].data, named);
  const own = [...named].filter(([name]) => !inOperations.has(name));
  const foreign = [...named.keys()].filter((name) => inOperations.has(name)).sort();
  const ownText = own.map(([name, schema]) => {
    const types = EVENT_TYPES.filter((type) => typeOf(EVENTS[type].data) === name);
    return `${comment(`The data of ${types.join(', ')}`)}export type ${name} = ${objectType(schema)};\n`;
  });
  const used = foreign.filter(
    (name) =>
      EVENT_TYPES.some((type) => typeOf(EVENTS[type].data) === name) ||
      ownText.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
  );
  const data = EVENT_TYPES.map(
    (type) => `${comment(EVENTS[type].summary)}readonly '${type}': ${typeOf(EVENTS[type].data)};\n`,
  );
  return `${HEAD}import type { ${used.join(', ')} } from './operations.ts';

${ownText.join('\n')}
/** The \`data\` of each type of event. */
export type EventData = {
${data.join('')}};

/** Every type of event. */
export const EVENT_TYPES = ${JSON.stringify(EVENT_TYPES)} as const;

/** One of {@link EVENT_TYPES}. */
export type EventType = keyof EventData;

/** An event of one type. */
export type EventOf<Type extends EventType> = {
  /** evt_ and 32 hex digits. */
  readonly event_id: string;
  readonly type: Type;
  /** 1, 2, 3 and so on within the card program, in the order of the commits, without a gap. */
  readonly position: number;
  /** The card program, or null for the service itself. */
  readonly program_id: string | null;
  /** Id of what the event is about, such as the transfer. */
  readonly subject_id: string;
  readonly created_at: string;
  /** Version of the API in which \`data\` is written. */
  readonly version: string;
  readonly data: EventData[Type];
};

/**
 * An event, as the service sends it: \`type\` says what \`data\` is. A later version of the service can send other types;
 * ignore what you do not know.
 */
export type TransferServiceEvent = { [Type in EventType]: EventOf<Type> }[EventType];
`;
}
