import type { EventType } from '../../domain/event.ts';
import type { SampleRequest } from '../error.ts';
import { curlOf } from '../examples.ts';
import { EVENT_CATALOGUE } from './catalogue.ts';

/** The values for the placeholders in the requests of a sample. */
export type SampleValues = {
  /** The id in the previous response: of a transfer, an attempt, a card, a key, a webhook, a case, an incident, a settlement file or a move-in. */
  readonly id: string;
  /** The date in UTC, YYYY-MM-DD. */
  readonly today: string;
  /** A value that no earlier run used. */
  readonly unique: string;
};

const ID = /\{(transfer|attempt|card|key|webhook|case|incident|file|move_in|comparison)_id\}/g;

/** A request of a sample with its values. */
export function filledRequest(request: SampleRequest, { id, today, unique }: SampleValues): SampleRequest {
  const fill = (text: string): string =>
    text.replaceAll(ID, id).replaceAll('{today}', today).replaceAll('{unique}', unique);
  return {
    ...request,
    path: fill(request.path),
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, fill(value)])),
    ...(request.body === undefined ? {} : { body: fill(request.body) }),
  };
}

/** The id in a response that later requests use, if it has one. */
export function idIn(request: SampleRequest, response: string): string | undefined {
  const prefix = PREFIXES.get(request.operation ?? '');
  return prefix === undefined ? undefined : new RegExp(`${prefix}_[0-9a-f]{32}`).exec(response)?.[0];
}

/** Prefixes of the ids that operations create or find. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['create_transfer', 'tr'],
  ['list_attempts', 'pat'],
  ['create_card', 'card'],
  ['create_key', 'key'],
  ['create_webhook', 'wh'],
  ['create_case', 'case'],
  ['create_incident', 'inc'],
  ['create_settlement_file', 'stl'],
  ['create_move_in', 'mvi'],
  ['create_comparison', 'cmp'],
]);

/** Commands for a POSIX shell that cause an event of the type. None for an event that needs a second person. */
export function causingCommands(type: EventType, base: string): readonly string[] {
  const { given = [], request } = EVENT_CATALOGUE[type].sample;
  if (typeof given === 'string') return [];
  return commandsOf([...given, request], EVENT_CATALOGUE[type].sample.after ?? [], base);
}

/** Commands that undo {@link causingCommands}, in the same shell. */
export function undoingCommands(type: EventType, base: string): readonly string[] {
  return commandsOf(EVENT_CATALOGUE[type].sample.after ?? [], [], base);
}

/**
 * Writes commands for requests. A command that creates or finds something stores its id, if a later request needs this id before
 * another command stores one.
 */
function commandsOf(
  requests: readonly SampleRequest[],
  later: readonly SampleRequest[],
  base: string,
): readonly string[] {
  const all = [...requests, ...later];
  const isCreating = ({ operation }: SampleRequest): boolean => PREFIXES.has(operation ?? '');
  const isNeeded = (at: number): boolean => {
    const next = all.findIndex((request, place) => place > at && isCreating(request));
    return all.slice(at + 1, next === -1 ? undefined : next + 1).some(({ path }) => path.search(ID) !== -1);
  };
  return requests.map((request, at) => {
    const command = withVariables(curlOf(request, base), base);
    const prefix = PREFIXES.get(request.operation ?? '');
    return prefix !== undefined && isNeeded(at) ? `id=$(${command} | grep -o '${prefix}_[0-9a-f]\\{32\\}')` : command;
  });
}

/** Replaces the placeholders in a command by expressions that the shell expands. The placeholders are inside quoted words. */
function withVariables(command: string, base: string): string {
  const url = new RegExp(`'(${RegExp.escape(base)}[^']*)'`);
  return command
    .replace(url, (_, inner: string) => `"${inner.replaceAll(ID, '$id')}"`)
    .replaceAll('{today}', `'$(date -u +%F)'`)
    .replaceAll('{unique}', `'$(date +%s)'`);
}

/** The command that reads the last event of the type; undefined if only a webhook receives it. */
export function readingCommand(type: EventType, base: string): string | undefined {
  const { listed, isOfService } = EVENT_CATALOGUE[type];
  if (!listed) return undefined;
  // The event of the sample of `program.created` belongs to the new program, not to the demo program.
  const path = isOfService || type === 'program.created' ? '/api/v0.1/operator/event' : '/api/v0.1/core/event';
  return curlOf({ method: 'GET', path: `${path}?type=${type}&limit=1`, headers: {} }, base);
}
