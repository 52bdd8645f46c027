import type { Books, Found, FoundEvent, StoredResponse } from './books.ts';
import {
  type Change,
  type Creation,
  isChange,
  isCreation,
  isDone,
  isInDoubt,
  isKept,
  type Operation,
  type Response,
} from './history.ts';

/** The members of an error record, in the order of the specification. */
const ERROR_RECORD = ['Message', 'Status', 'Code', 'Type'];

/** Matches violations about money: a change is lost, duplicated, not durable or made although denied, or sums are wrong. */
export const ABOUT_MONEY =
  /lost: |duplicated: |said that no money moved, but it made|every first response said that no money moved|refused and made|transfers were acknowledged|its transfers add up to|do not sum to zero/;

/** A transfer or a reversal that an operation created. */
type Made = { readonly id: string; readonly requestId: string; readonly terms: readonly unknown[] };

/**
 * Compares the responses that clients received with the books. Returns a sentence for each contradiction, and for each fault of
 * the books. It relies only on its own history of requests and responses.
 */
export function findContradictions(operations: readonly Operation[], books: Books): string[] {
  const { transfers, stored, events } = books;
  const byKey = Map.groupBy(transfers, ({ key }) => key);
  const byId = new Map(transfers.map((found) => [found.transferId, found]));
  const byName = new Map((stored ?? []).map((row) => [nameOf(row), row]));
  const byFact = new Map((events ?? []).map((event) => [`${event.type} ${event.subjectId}`, event]));
  const creations = new Map(operations.filter(isCreation).map((operation) => [operation.key, operation]));
  const changes = Map.groupBy(operations.filter(isChange), ({ asked }) => asked.transferId);
  const names = new Set(operations.map(nameOfOperation));
  const uncalled = transfers.filter(({ key }) => !creations.has(key));
  const nobodys = (stored ?? []).filter((row) => !names.has(nameOf(row)));
  const ofOperation = (operation: Operation): readonly string[] => [
    ...wrongResponses(operation),
    ...(isCreation(operation) ? wrongCreation(operation, byKey.get(operation.key) ?? [], books.members) : []),
    ...(isChange(operation) ? wrongChange(operation, byId.get(operation.asked.transferId), books.members) : []),
    ...(stored === undefined ? [] : wrongStored(operation, byName.get(nameOfOperation(operation)), byFact)),
  ];
  return [
    ...Object.entries(books.faults).map(([what, count]) => `${what}: ${count}`),
    ...uncalled.map(({ transferId, key }) => `${transferId} was made under ${key}, which no client sent`),
    ...nobodys.map(({ operation, key }) => `a response is stored under ${key} of ${operation}, which no client sent`),
    ...operations.flatMap((operation) => ofOperation(operation).map((problem) => `${operation.key}: ${problem}`)),
    ...transfers.flatMap((found) =>
      wrongState(found, creations.get(found.key), changes.get(found.transferId) ?? []).map(
        (problem) => `${found.transferId}: ${problem}`,
      ),
    ),
    ...(stored === undefined ? [] : transfers.flatMap((found) => wrongSubjects(found, byName))),
    ...(events === undefined ? [] : wrongEvents(transfers, events)),
    ...wrongBalances(books),
  ];
}

/**
 * Returns the transfers and reversals that a request without a response created. After a proper stop of a service,
 * there must be none.
 */
export function findMadeInSilence(
  responses: readonly Response[],
  { transfers }: Pick<Books, 'transfers'>,
): readonly string[] {
  const answered = new Set(responses.map(({ requestId }) => requestId));
  const made = transfers.flatMap(({ requestId, key, reversals }) => [{ requestId, key }, ...reversals]);
  return made
    .filter(({ requestId }) => !answered.has(requestId))
    .map(({ requestId, key }) => `${key}: done by ${requestId}, which got no response`);
}

/** Returns the contradictions between the responses to one key. */
function wrongResponses(operation: Operation): readonly string[] {
  const { responses } = operation;
  const problems: string[] = [];
  const done = responses.filter(isDone);
  if (done.length > 0 && done.every(({ replayed }) => replayed) && !isInDoubt(operation))
    problems.push('done, but every first response said that no money moved');
  if (new Set(responses.filter(isKept).map(({ status, text }) => `${status} ${text}`)).size > 1)
    problems.push('responses differ');
  if (done.filter(({ replayed }) => !replayed).length > 1) problems.push('two first responses');
  for (const { text } of done) if (!isAsAsked(operation, text)) problems.push(`${text} differs from the request`);
  for (const { status, text, moneyMoved, shouldRetry } of responses) {
    if (status < 400) continue;
    if (!isErrorRecord(status, text)) problems.push(`no error record: ${text}`);
    if (moneyMoved !== 'no' && moneyMoved !== 'unknown') problems.push(`a ${status} with Money-Moved: ${moneyMoved}`);
    // Every request has a key, so it can be retried after a failure. A decision is stored, so a retry is useless.
    if (shouldRetry !== String(status >= 500)) problems.push(`a ${status} with Should-Retry: ${shouldRetry}`);
  }
  return problems;
}

function isErrorRecord(status: number, text: string): boolean {
  try {
    const record = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(Object.keys(record)) === JSON.stringify(ERROR_RECORD) && record.Status === status;
  } catch {
    return false;
  }
}

/** Whether the record in a response shows the requested values. */
function isAsAsked({ asked, key }: Operation, text: string): boolean {
  const found = JSON.parse(text) as Record<string, unknown>;
  switch (asked.does) {
    case 'create': {
      const { type, amount, card_id, destination_card_id, capture, reference, metadata, expires_at } = found;
      const shown = [type, amount, card_id, destination_card_id, capture, reference];
      const isTimely = asked.expiresAt === null || expires_at === asked.expiresAt;
      return isSame(shown, termsOf(asked)) && isSame(metadata, { key }) && isTimely;
    }
    case 'capture':
      return isSame(
        [found.transfer_id, found.captured_amount, found.status],
        [asked.transferId, asked.amount, 'completed'],
      );
    case 'cancel':
      return isSame([found.transfer_id, found.captured_amount, found.status], [asked.transferId, 0, 'canceled']);
    case 'reverse':
      return isSame([found.transfer_id, found.amount, found.description], [asked.transferId, asked.amount, key]);
  }
}

function wrongCreation(operation: Operation<Creation>, made: readonly Found[], members: Books['members']) {
  const problems = wrongMade(
    operation,
    made.map(({ transferId, requestId, terms }) => ({ id: transferId, requestId, terms: termsOf(terms) })),
  );
  for (const { text } of operation.responses.filter(isDone)) {
    const found = made.find(({ transferId }) => transferId === subjectOf(text));
    if (found !== undefined && isUntouched(found) && isChanged(found, text, members))
      problems.push(`changed: ${found.text} from ${text}`);
  }
  return problems;
}

function wrongChange(operation: Operation<Change>, found: Found | undefined, members: Books['members']) {
  const { key, asked, responses } = operation;
  if (found === undefined) return [`${asked.transferId} does not exist`];
  if (asked.does === 'reverse') {
    const own = found.reversals.filter((reversal) => reversal.key === key);
    return wrongMade(
      operation,
      own.map(({ reversalId, requestId, amount }) => ({ id: reversalId, requestId, terms: [amount] })),
    );
  }
  const done = responses.filter(isDone);
  if (done.length === 0) return [];
  const problems: string[] = [];
  const status = asked.does === 'capture' ? 'completed' : 'canceled';
  if (found.status !== status || found.capturedAmount !== asked.amount)
    problems.push(
      `lost: a ${asked.does} was acknowledged, but the transfer is ${found.status} with ${found.capturedAmount}`,
    );
  const changed = done.find(({ text }) => isChanged(found, text, members));
  if (changed !== undefined) problems.push(`changed: ${found.text} from ${changed.text}`);
  return problems;
}

/** Checks that an operation created exactly one transfer or reversal if it was acknowledged, and none if it was denied. */
function wrongMade(operation: Operation, made: readonly Made[]): string[] {
  const { asked, responses } = operation;
  const problems: string[] = [];
  if (made.length > 1) problems.push(`duplicated: ${made.map(({ id }) => id).join(' and ')}`);
  for (const id of responses.filter(isDone).map(({ text }) => subjectOf(text)))
    if (!made.some((each) => each.id === id)) problems.push(`lost: ${id} was acknowledged but does not exist`);
  const wanted = asked.does === 'create' ? termsOf(asked) : [asked.amount];
  for (const { id, requestId, terms } of made) {
    if (!isSame(terms, wanted)) problems.push(`made with other terms: ${terms} instead of ${wanted}`);
    if (responses.some(({ status }) => status === 409)) problems.push('refused and made');
    problems.push(...wrongMaker(operation, requestId, asked.does === 'create' ? id : asked.transferId));
  }
  return problems;
}

/** Checks the response to the request that created a transfer or a reversal. */
function wrongMaker({ responses, unanswered }: Operation, requestId: string, transferId: string): readonly string[] {
  const response = responses.find((each) => each.requestId === requestId);
  if (response === undefined) return unanswered === 0 ? ['made by a request that no client sent'] : [];
  if (isDone(response)) return response.replayed ? ['made by a request whose response is marked as a replay'] : [];
  if (response.moneyMoved === 'no') return [`a ${response.status} said that no money moved, but it made ${transferId}`];
  if (response.transferId === transferId) return [];
  return [`a ${response.status} named ${response.transferId} but made ${transferId}`];
}

/** Whether a transfer has not changed since its creation. */
function isUntouched({ terms, status, reversals }: Found): boolean {
  return terms.capture === 'manual' ? status === 'pending' : reversals.length === 0;
}

/** Whether the record that the service shows differs from a response. */
function isChanged({ text: found }: Found, response: string, members: Books['members']): boolean {
  const shown = (text: string): string =>
    members === undefined
      ? text
      : JSON.stringify(Object.entries(JSON.parse(text) as object).filter(([name]) => members.includes(name)));
  return found !== undefined && shown(found) !== shown(response);
}

/** Checks that a transfer has its first status, or the status of a change that was requested and not refused. */
function wrongState(
  { terms, status, capturedAmount, reversals }: Found,
  creation: Operation<Creation> | undefined,
  changes: readonly Operation<Change>[],
): readonly string[] {
  const problems: string[] = [];
  if (terms.capture === 'automatic') {
    if (status !== 'completed') problems.push(`left ${status}`);
    if (capturedAmount !== terms.amount) problems.push(`${capturedAmount} of ${terms.amount} captured`);
  } else if (status !== 'pending') {
    const isExpiry = status === 'expired' && creation !== undefined && creation.asked.expiresAt !== null;
    const does = status === 'completed' ? 'capture' : status === 'canceled' ? 'cancel' : undefined;
    const wanted = changes.filter(({ asked }) => asked.does === does && asked.amount === capturedAmount);
    if (!isExpiry && !wanted.some(mayHaveDone))
      problems.push(`${status} with ${capturedAmount}, which no request explains`);
  }
  if (status !== 'completed' && capturedAmount !== 0) problems.push(`${status}, but ${capturedAmount} were captured`);
  const ended = changes.filter(({ asked, responses }) => asked.does !== 'reverse' && responses.some(isDone));
  if (ended.length > 1) problems.push(`ended by ${ended.map(({ key }) => key).join(' and ')}`);
  for (const { key } of reversals) {
    if (!changes.some((change) => change.key === key)) problems.push(`reversed under ${key}, which no client sent`);
  }
  return problems;
}

/** Whether an operation succeeded, or may have succeeded without a final response. */
function mayHaveDone(operation: Operation): boolean {
  const { responses } = operation;
  return !responses.some(({ status }) => status === 409) && (isInDoubt(operation) || responses.some(isDone));
}

/** Compares the stored response of an operation and its event with each other and with the received response. */
function wrongStored(
  operation: Operation,
  row: StoredResponse | undefined,
  events: ReadonlyMap<string, FoundEvent>,
): readonly string[] {
  const problems: string[] = [];
  const first = operation.responses.find(isKept);
  if (first !== undefined) {
    if (row === undefined) problems.push(`lost: its ${first.status} is not stored`);
    else if (!isStored(row, first)) problems.push(`the stored response differs: ${textOf(row)} from ${first.text}`);
  }
  const success = first !== undefined && isDone(first) ? first.text : row?.body;
  const subjectId = success == null ? null : subjectOf(success);
  if (success != null && subjectId !== null) {
    const type = eventTypeOf(operation.asked);
    const event = events.get(`${type} ${subjectId}`);
    if (event === undefined) problems.push(`no event ${type} of ${subjectId}`);
    else if (event.payload !== success) problems.push(`the event differs: ${event.payload} from ${success}`);
    if (row !== undefined && isDone(row) && row.subjectId !== subjectId)
      problems.push(`the stored response is about ${row.subjectId} instead of ${subjectId}`);
  }
  return problems;
}

function isStored(row: StoredResponse, { status, text }: Response): boolean {
  if (row.status !== status) return false;
  if (status < 300) return row.body === text;
  const record = JSON.parse(text) as { readonly Code: string; readonly Message: string };
  return record.Code === row.code && record.Message === row.message;
}

function textOf({ status, body, code, message }: StoredResponse): string {
  return `${status} ${body ?? `${code}: ${message}`}`;
}

/** Returns the type of the event that an operation causes. */
function eventTypeOf(asked: Creation | Change): string {
  if (asked.does === 'create') return creationEventOf(asked);
  return { capture: 'transfer.completed', cancel: 'transfer.canceled', reverse: 'reversal.completed' }[asked.does];
}

function creationEventOf({ capture }: Pick<Creation, 'capture'>): string {
  return capture === 'manual' ? 'transfer.pending' : 'transfer.completed';
}

/** Checks that each transfer and reversal is the subject of its key's stored response. */
function wrongSubjects(
  { transferId, key, reversals }: Found,
  byName: ReadonlyMap<string, StoredResponse>,
): readonly string[] {
  const made = [
    { subjectId: transferId, name: `create_transfer ${key}` },
    ...reversals.map((reversal) => ({ subjectId: reversal.reversalId, name: `reverse_transfer ${reversal.key}` })),
  ];
  return made.flatMap(({ subjectId, name }) => {
    const row = byName.get(name);
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
    wanted.set(transferId, [creationEventOf(terms), ...ending]);
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

function wrongBalances({ transfers, opening, balances }: Books): readonly string[] {
  if (balances === undefined) return [];
  return [...addMoved(opening, transfers)].flatMap(([card, balance]) => {
    const found = balances.get(card);
    return found === balance ? [] : [`${card} has ${found}, but its transfers add up to ${balance}`];
  });
}

/** Returns the balances of cards after the transfers: captured amounts minus reversed amounts. */
function addMoved(opening: ReadonlyMap<string, number>, transfers: readonly Found[]): ReadonlyMap<string, number> {
  const balances = new Map(opening);
  const add = (card: string, amount: number): void => void balances.set(card, (balances.get(card) ?? 0) + amount);
  for (const { terms, capturedAmount, reversals } of transfers) {
    const moved = reversals.reduce((left, { amount }) => left - amount, capturedAmount);
    add(terms.card, terms.type === 'load' ? moved : -moved);
    if (terms.destination !== null) add(terms.destination, moved);
  }
  return balances;
}

function subjectOf(text: string): string | null {
  const record = JSON.parse(text) as { readonly transfer_id?: string; readonly reversal_id?: string };
  return record.reversal_id ?? record.transfer_id ?? null;
}

function termsOf({ type, amount, card, destination, capture, reference }: Found['terms']): readonly unknown[] {
  return [type, amount, card, destination, capture, reference];
}

function nameOf({ operation, key }: StoredResponse): string {
  return `${operation} ${key}`;
}

function nameOfOperation({ asked, key }: Operation): string {
  return `${asked.does}_transfer ${key}`;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
