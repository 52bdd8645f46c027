import type { ChangeHistory, CreateHistory, Found, ReceivedResponse } from './history.ts';

/** The first response to a key as it is kept to be given again. */
export type StoredResponse = {
  /** Whose key it is: `create_transfer`, `capture_transfer` … */
  readonly operation: string;
  readonly key: string;
  readonly status: number;
  /** Id on the wire of what was made or changed; null for a refusal. */
  readonly subjectId: string | null;
  readonly body: string | null;
  /** `Code` and `Message` of a refusal. */
  readonly code: string | null;
  readonly message: string | null;
};

/** An event as it is found. */
export type FoundEvent = { readonly type: string; readonly subjectId: string; readonly payload: string };

/** What the books have besides money: the responses that are kept, and the events. */
export type Records = { readonly kept: readonly StoredResponse[]; readonly events: readonly FoundEvent[] };

type KeyHistory = CreateHistory | ChangeHistory;

/** Compares the kept responses and the events with the responses that clients got, with the transfers, and with each other. */
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
    ...nobodys.map(({ operation, key }) => `a response is kept under ${key} of ${operation}, which nobody sent`),
    ...history.flatMap((story) => wrongKept(story, ofKey.get(`${operationOf(story)} ${story.key}`), ofFact)),
    ...transfers.flatMap((found) => wrongSubjects(found, ofKey)),
    ...wrongEvents(transfers, events),
  ];
}

function operationOf(story: KeyHistory): string {
  return `${'terms' in story ? 'create' : story.change.verb}_transfer`;
}

/** What is wrong with the response that is kept under a key, and with the event that tells of the same. */
function wrongKept(
  story: KeyHistory,
  row: StoredResponse | undefined,
  ofFact: ReadonlyMap<string, FoundEvent>,
): readonly string[] {
  const problems: string[] = [];
  const first = story.responses.find(({ status }) => status < 300 || status === 409);
  if (first !== undefined) {
    if (row === undefined) problems.push(`lost: its ${first.status} is not kept`);
    else if (!isSame(row, first)) problems.push(`the kept response differs: ${textOf(row)} from ${first.text}`);
  }
  const success = first !== undefined && first.status < 300 ? first.text : row?.body;
  const subjectId = success == null ? null : subjectOf(success);
  if (success != null && subjectId !== null) {
    const type = eventTypeOf(story);
    const event = ofFact.get(`${type} ${subjectId}`);
    if (event === undefined) problems.push(`no event ${type} of ${subjectId}`);
    else if (event.payload !== success) problems.push(`the event differs: ${event.payload} from ${success}`);
    if (row !== undefined && row.status < 300 && row.subjectId !== subjectId)
      problems.push(`what is kept is about ${row.subjectId} instead of ${subjectId}`);
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

/** The event that tells of what a request did. */
function eventTypeOf(story: KeyHistory): string {
  if ('terms' in story) return creationOf(story.terms.capture);
  return { capture: 'transfer.completed', cancel: 'transfer.canceled', reverse: 'reversal.completed' }[
    story.change.verb
  ];
}

function creationOf(capture: 'automatic' | 'manual'): string {
  return capture === 'manual' ? 'transfer.pending' : 'transfer.completed';
}

/** What was made under a key is what the key's response says was made. */
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
    if (row === undefined) return [`${subjectId} was made, and no response is kept under ${name}`];
    return row.subjectId === subjectId ? [] : [`${subjectId} was made, and ${name} says ${textOf(row)}`];
  });
}

/** Each fact has its one event, and no event tells of something that is not there. */
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
    .map((subjectId) => `an event tells of ${subjectId}, which is not there`);
  for (const [subjectId, types] of wanted) {
    const recorded = (found.get(subjectId) ?? []).map(({ type }) => type);
    if (recorded.toSorted().join() !== types.toSorted().join())
      problems.push(`${subjectId} has the events [${recorded}] instead of [${types}]`);
  }
  return problems;
}
