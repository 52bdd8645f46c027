import type { ChangeHistory, CreateHistory, Found, ReceivedResponse } from './history.ts';

/** The stored first response to a key. */
export type StoredResponse = {
  /** The operation of the key, such as `create_transfer`. */
  readonly operation: string;
  readonly key: string;
  readonly status: number;
  /** The id of the transfer or reversal on the wire; null for a refusal. */
  readonly subjectId: string | null;
  readonly body: string | null;
  /** The `Code` of a refusal. */
  readonly code: string | null;
  /** The `Message` of a refusal. */
  readonly message: string | null;
};

export type FoundEvent = { readonly type: string; readonly subjectId: string; readonly payload: string };

export type Records = { readonly kept: readonly StoredResponse[]; readonly events: readonly FoundEvent[] };

type KeyHistory = CreateHistory | ChangeHistory;

/** Compares the stored responses and events with each other, with the received responses and with the transfers. */
export function wrongRecords(
  history: readonly KeyHistory[],
  transfers: readonly Found[],
  { kept, events }: Records,
): string[] {
  const ofKey = new Map(kept.map((row) => [`${row.operation} ${row.key}`, row]));
  const ofFact = new Map(events.map((event) => [`${event.type} ${event.subjectId}`, event]));
  const requested = new Set(history.map((story) => `${operationOf(story)} ${story.key}`));
  const nobodys = kept.filter(({ operation, key }) => !requested.has(`${operation} ${key}`));
  return [
    ...nobodys.map(({ operation, key }) => `a response is stored under ${key} of ${operation}, which no client sent`),
    ...history.flatMap((story) => wrongKept(story, ofKey.get(`${operationOf(story)} ${story.key}`), ofFact)),
    ...transfers.flatMap((found) => wrongSubjects(found, ofKey)),
    ...wrongEvents(transfers, events),
  ];
}

function operationOf(story: KeyHistory): string {
  return `${'terms' in story ? 'create' : story.change.verb}_transfer`;
}

/** Returns the problems of a key's stored response and its event. */
function wrongKept(
  story: KeyHistory,
  row: StoredResponse | undefined,
  ofFact: ReadonlyMap<string, FoundEvent>,
): readonly string[] {
  const problems: string[] = [];
  const first = story.responses.find(({ status }) => status < 300 || status === 409);
  if (first !== undefined) {
    if (row === undefined) problems.push(`lost: its ${first.status} is not stored`);
    else if (!isSame(row, first)) problems.push(`the stored response differs: ${textOf(row)} from ${first.text}`);
  }
  const success = first !== undefined && first.status < 300 ? first.text : row?.body;
  const subjectId = success == null ? null : subjectOf(success);
  if (success != null && subjectId !== null) {
    const type = eventTypeOf(story);
    const event = ofFact.get(`${type} ${subjectId}`);
    if (event === undefined) problems.push(`no event ${type} of ${subjectId}`);
    else if (event.payload !== success) problems.push(`the event differs: ${event.payload} from ${success}`);
    if (row !== undefined && row.status < 300 && row.subjectId !== subjectId)
      problems.push(`the stored response is about ${row.subjectId} instead of ${subjectId}`);
  }
  return problems.map((problem) => `${story.key}: ${problem}`);
}

function isSame(row: StoredResponse, { status, text }: ReceivedResponse): boolean {
  if (row.status !== status) return false;
  if (status < 300) return row.body === text;
  const record = JSON.parse(text) as { readonly Code: string; readonly Message: string };
  return record.Code === row.code && record.Message === row.message;
}

function textOf({ status, body, code, message }: StoredResponse): string {
  return `${status} ${body ?? `${code}: ${message}`}`;
}

function subjectOf(text: string): string | null {
  const record = JSON.parse(text) as { readonly transfer_id?: string; readonly reversal_id?: string };
  return record.reversal_id ?? record.transfer_id ?? null;
}

/** Returns the type of the event that a request causes. */
function eventTypeOf(story: KeyHistory): string {
  if ('terms' in story) return creationOf(story.terms.capture);
  return { capture: 'transfer.completed', cancel: 'transfer.canceled', reverse: 'reversal.completed' }[
    story.change.verb
  ];
}

function creationOf(capture: 'automatic' | 'manual'): string {
  return capture === 'manual' ? 'transfer.pending' : 'transfer.completed';
}

/** Checks that each transfer and reversal is the subject of its key's stored response. */
function wrongSubjects(
  { transferId, key, reversals }: Found,
  ofKey: ReadonlyMap<string, StoredResponse>,
): readonly string[] {
  const made = [
    { subjectId: transferId, name: `create_transfer ${key}` },
    ...reversals.map((reversal) => ({ subjectId: reversal.reversalId, name: `reverse_transfer ${reversal.key}` })),
  ];
  return made.flatMap(({ subjectId, name }) => {
    const row = ofKey.get(name);
    if (row === undefined) return [`${subjectId} was made, but no response is stored under ${name}`];
    return row.subjectId === subjectId ? [] : [`${subjectId} was made, but ${name} says ${textOf(row)}`];
  });
}

/** Checks that each creation, change and reversal has exactly one event, and that the subject of each event exists. */
function wrongEvents(transfers: readonly Found[], events: readonly FoundEvent[]): readonly string[] {
  const found = Map.groupBy(events, ({ subjectId }) => subjectId);
  const wanted = new Map<string, readonly string[]>();
  for (const { transferId, terms, status, reversals } of transfers) {
    const ending = terms.capture === 'manual' && status !== 'pending' ? [`transfer.${status}`] : [];
    wanted.set(transferId, [creationOf(terms.capture), ...ending]);
    for (const { reversalId } of reversals) wanted.set(reversalId, ['reversal.completed']);
  }
  const problems = [...found.keys()]
    .filter((subjectId) => !wanted.has(subjectId))
    .map((subjectId) => `an event has the subject ${subjectId}, which does not exist`);
  for (const [subjectId, types] of wanted) {
    const recorded = (found.get(subjectId) ?? []).map(({ type }) => type);
    if (recorded.toSorted().join() !== types.toSorted().join())
      problems.push(`${subjectId} has the events [${recorded}] instead of [${types}]`);
  }
  return problems;
}
