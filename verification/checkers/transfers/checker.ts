import type {
  ChangeHistory,
  CreateHistory,
  Found,
  FoundReversal,
  KeyHistory,
  ReceivedResponse,
  Terms,
} from './history.ts';
import { type Records, wrongRecords } from './records.ts';

/** The transfers in the ledger, and the balances of their cards. */
export type Books = {
  readonly transfers: readonly Found[];
  readonly opening: ReadonlyMap<string, number>;
  readonly balances: ReadonlyMap<string, number>;
  /** Undefined if the records were not read. */
  readonly records?: Records | undefined;
  /** The members of a transfer record to compare: those that every tested version has. Undefined compares all members. */
  readonly members?: readonly string[];
};

/** Returns a record with only these members, as text. */
function shown(text: string, members: Books['members']): string {
  if (members === undefined) return text;
  return JSON.stringify(Object.entries(JSON.parse(text) as object).filter(([name]) => members.includes(name)));
}

/**
 * Compares the responses that clients received with the books. Returns a sentence for each contradiction. It relies only on
 * its own record of requests and responses.
 */
export function findContradictions(
  stories: readonly CreateHistory[],
  books: Books,
  changes: readonly ChangeHistory[] = [],
): string[] {
  const byKey = Map.groupBy(books.transfers, ({ key }) => key);
  const byId = new Map(books.transfers.map((found) => [found.transferId, found]));
  const known = new Set(stories.map(({ key }) => key));
  const uncalled = books.transfers.filter(({ key }) => !known.has(key));
  const byTransfer = Map.groupBy(changes, ({ change }) => change.transferId);
  return [
    ...uncalled.map(({ transferId, key }) => `${transferId} was made under ${key}, which no client sent`),
    ...stories.flatMap((story) => contradictionsOf(story, byKey.get(story.key) ?? [], books.members)),
    ...books.transfers.flatMap((found) => wrongState(found, byTransfer.get(found.transferId) ?? [])),
    ...changes.flatMap((story) => wrongChange(story, byId.get(story.change.transferId), books.members)),
    ...wrongBalances(books),
    ...(books.records === undefined ? [] : wrongRecords([...stories, ...changes], books.transfers, books.records)),
  ];
}

/** Returns the transfers and reversals made by a request without a response. A stop must leave none. */
export function findMadeInSilence(
  responses: readonly ReceivedResponse[],
  { transfers }: Pick<Books, 'transfers'>,
): readonly string[] {
  const answered = new Set(responses.map(({ requestId }) => requestId));
  const made = transfers.flatMap(({ requestId, key, reversals }) => [{ requestId, key }, ...reversals]);
  return made
    .filter(({ requestId }) => !answered.has(requestId))
    .map(({ requestId, key }) => `${key}: done by ${requestId}, which got no response`);
}

/** Returns the contradictions between the responses to one key. */
function wrongResponses({ responses, silences }: KeyHistory): string[] {
  const problems: string[] = [];
  const done = responses.filter(isDone);
  const isByAnUnheard = silences > 0 || responses.some(({ moneyMoved }) => moneyMoved === 'unknown');
  if (done.length > 0 && done.every(({ replayed }) => replayed) && !isByAnUnheard)
    problems.push('done, but every request except the replays reported no');
  if (new Set(responses.filter(isKept).map(({ status, text }) => `${status} ${text}`)).size > 1)
    problems.push('responses differ');
  if (done.filter(({ replayed }) => !replayed).length > 1) problems.push('two first responses');
  for (const { status, moneyMoved, shouldRetry } of responses) {
    if (status < 400) continue;
    const isSilent = moneyMoved !== 'no' && moneyMoved !== 'unknown';
    if (isSilent) problems.push(`a ${status} with Money-Moved: ${moneyMoved}`);
    // Every request has a key, so it can be retried after a failure. A decision is stored, so a retry is useless.
    if (shouldRetry !== String(status >= 500)) problems.push(`a ${status} with Should-Retry: ${shouldRetry}`);
  }
  return problems;
}

function contradictionsOf(story: CreateHistory, made: readonly Found[], members: Books['members']): string[] {
  const { key, terms, responses } = story;
  const problems: string[] = [];
  const say = (problem: string): void => void problems.push(`${key}: ${problem}`);
  if (made.length > 1) say(`doubled: ${made.map(({ transferId }) => transferId).join(' and ')}`);
  for (const problem of wrongResponses(story)) say(problem);
  for (const response of responses.filter(isDone)) {
    const { transfer_id: transferId } = JSON.parse(response.text) as { transfer_id: string };
    const found = made.find((candidate) => candidate.transferId === transferId);
    if (found === undefined) say(`lost: ${transferId} was acknowledged but does not exist`);
    else if (isUntouched(found) && isChanged(found, response, members))
      say(`changed: ${found.text} from ${response.text}`);
  }
  for (const found of made) {
    if (JSON.stringify(inOrder(found.terms)) !== JSON.stringify(inOrder(terms))) say('made with other terms');
    if (responses.some(({ status }) => status === 409)) say('refused and made');
    for (const problem of whoMade(story, found, found.transferId)) say(problem);
  }
  return problems;
}

/** Whether the record that the service shows differs from a response. */
function isChanged({ text }: Found, response: ReceivedResponse, members: Books['members']): boolean {
  return text !== undefined && shown(text, members) !== shown(response.text, members);
}

/** Whether a transfer has not changed since its creation. */
function isUntouched({ terms, status, reversals }: Found): boolean {
  return terms.capture === 'manual' ? status === 'pending' : reversals.length === 0;
}

/** Checks the response to the request that made a transfer or a reversal. */
function whoMade(
  { responses, silences }: KeyHistory,
  made: { readonly requestId: string },
  transferId: string,
): string[] {
  const response = responses.find(({ requestId }) => requestId === made.requestId);
  if (response === undefined) return silences === 0 ? ['made by a request that no client sent'] : [];
  if (isDone(response)) return response.replayed ? ['made by a request whose response is marked as a replay'] : [];
  if (response.moneyMoved === 'no') return [`a ${response.status} said that no money moved, but it made ${transferId}`];
  if (response.transferId === transferId) return [];
  return [`a ${response.status} named ${response.transferId} but made ${transferId}`];
}

/** Checks that a transfer has its first status, or the status of a change that was requested and not refused. */
function wrongState(
  { transferId, terms, status, capturedAmount, reversals }: Found,
  asked: readonly ChangeHistory[],
): string[] {
  const problems: string[] = [];
  const right = { completed: terms.amount, pending: 0, canceled: 0 }[status];
  if (terms.capture === 'automatic') {
    if (status !== 'completed') problems.push(`${transferId}: left ${status}`);
    if (capturedAmount !== terms.amount) problems.push(`${transferId}: ${capturedAmount} of ${terms.amount} captured`);
  } else if (status !== 'completed' && capturedAmount !== right) {
    problems.push(`${transferId}: ${status}, but ${capturedAmount} were captured`);
  }
  if (terms.capture === 'manual' && status !== 'pending') {
    const verb = status === 'completed' ? 'capture' : 'cancel';
    const wanted = asked.filter(
      ({ change }) => change.verb === verb && (verb === 'cancel' || change.amount === capturedAmount),
    );
    if (!wanted.some(mayHaveDone))
      problems.push(`${transferId}: ${status} with ${capturedAmount}, which no request explains`);
  }
  const ended = asked.filter(({ change, responses }) => change.verb !== 'reverse' && responses.some(isDone));
  if (ended.length > 1) problems.push(`${transferId}: ended by ${ended.map(({ key }) => key).join(' and ')}`);
  for (const reversal of reversals) {
    if (!asked.some(({ key }) => key === reversal.key))
      problems.push(`${transferId}: reversed under ${reversal.key}, which no client sent`);
  }
  return problems;
}

/** Whether a request of this key succeeded, or may have succeeded without a final response. */
function mayHaveDone({ responses, silences }: KeyHistory): boolean {
  if (responses.some(({ status }) => status === 409)) return false;
  return silences > 0 || responses.some((response) => isDone(response) || response.moneyMoved === 'unknown');
}

function wrongChange(story: ChangeHistory, found: Found | undefined, members: Books['members']): string[] {
  const { key, change, responses } = story;
  const problems: string[] = wrongResponses(story);
  const isAcknowledged = responses.some(isDone);
  if (found === undefined) problems.push(`${change.transferId} does not exist`);
  else if (change.verb === 'reverse') problems.push(...wrongReversal(story, found));
  else if (isAcknowledged) {
    const status = change.verb === 'capture' ? 'completed' : 'canceled';
    const amount = change.verb === 'capture' ? change.amount : 0;
    if (found.status !== status || found.capturedAmount !== amount)
      problems.push(
        `lost: a ${change.verb} was acknowledged, but the transfer is ${found.status} with ${found.capturedAmount}`,
      );
    const changed = responses.find((response) => isDone(response) && isChanged(found, response, members));
    if (changed !== undefined) problems.push(`changed: ${found.text} from ${changed.text}`);
  }
  return problems.map((problem) => `${key}: ${problem}`);
}

function wrongReversal(story: ChangeHistory, found: Found): string[] {
  const { key, change, responses } = story;
  const made = found.reversals.filter((reversal) => reversal.key === key);
  const problems: string[] = [];
  if (made.length > 1) problems.push(`doubled: ${made.map(({ reversalId }) => reversalId).join(' and ')}`);
  for (const response of responses.filter(isDone)) {
    const { reversal_id: reversalId } = JSON.parse(response.text) as { reversal_id: string };
    if (!made.some((reversal) => reversal.reversalId === reversalId))
      problems.push(`lost: ${reversalId} was acknowledged but does not exist`);
  }
  for (const reversal of made) {
    if (reversal.amount !== change.amount) problems.push(`reversed ${reversal.amount} instead of ${change.amount}`);
    if (responses.some(({ status }) => status === 409)) problems.push('refused and made');
    problems.push(...whoMade(story, reversal, change.transferId));
  }
  return problems;
}

function wrongBalances({ transfers, opening, balances }: Books): string[] {
  return [...addMoved(opening, transfers)].flatMap(([cardId, balance]) => {
    const found = balances.get(cardId);
    return found === balance ? [] : [`${cardId} has ${found}, but its transfers add up to ${balance}`];
  });
}

/** Returns the balances of cards after the transfers: captured amounts minus reversed amounts. */
export function addMoved(
  opening: ReadonlyMap<string, number>,
  transfers: readonly Found[],
): ReadonlyMap<string, number> {
  const balances = new Map(opening);
  const add = (cardId: string, amount: number): void => void balances.set(cardId, (balances.get(cardId) ?? 0) + amount);
  for (const { terms, capturedAmount, reversals } of transfers) {
    const moved = reversals.reduce((left, { amount }) => left - amount, capturedAmount);
    add(terms.cardId, terms.type === 'load' ? moved : -moved);
    if (terms.destinationCardId !== null) add(terms.destinationCardId, moved);
  }
  return balances;
}

/**
 * Returns the part of the books made under keys with this beginning. Transfers under other keys used the same cards before.
 * Their balances are the opening balances of this part.
 */
export function booksOf<Kept extends Books>(beginning: string, books: Kept): Kept {
  const isOwn = ({ key }: { readonly key: string }): boolean => key.startsWith(beginning);
  const transfers = books.transfers.filter(isOwn);
  const others = books.transfers.filter((found) => !isOwn(found));
  const opening = addMoved(books.opening, others);
  const { records } = books;
  if (records === undefined) return { ...books, transfers, opening };
  const foreign = new Set(others.flatMap(({ transferId, reversals }) => [transferId, ...reversals.map(idOf)]));
  const events = records.events.filter(({ subjectId }) => !foreign.has(subjectId));
  return { ...books, transfers, opening, records: { kept: records.kept.filter(isOwn), events } };
}

function idOf({ reversalId }: FoundReversal): string {
  return reversalId;
}

/** Whether the service stores a response under its key. Stored responses never change. */
export function isKept(response: ReceivedResponse): boolean {
  return isDone(response) || response.status === 409;
}

/** Whether a response acknowledges the request. */
export function isDone({ status }: ReceivedResponse): boolean {
  return status === 200 || status === 201;
}

function inOrder({ type, amount, cardId, destinationCardId, capture }: Terms): readonly unknown[] {
  return [type, amount, cardId, destinationCardId, capture];
}
