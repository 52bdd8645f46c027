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

/** The books as they are found: transfers, and the balance of every card that takes part. */
export type Books = {
  readonly transfers: readonly Found[];
  readonly opening: ReadonlyMap<string, number>;
  readonly balances: ReadonlyMap<string, number>;
  /** Undefined where nobody looked. */
  readonly records?: Records | undefined;
  /** The members of the record of a transfer that all versions have which answered; all are compared where it is omitted. */
  readonly members?: readonly string[];
};

/** The text of a record, with those members only. */
function shown(text: string, members: Books['members']): string {
  if (members === undefined) return text;
  return JSON.stringify(Object.entries(JSON.parse(text) as object).filter(([name]) => members.includes(name)));
}

/**
 * Compares the responses that clients got with what the books say, and gives a sentence for each contradiction. It trusts
 * nothing but its own record of what was sent and heard.
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
    ...uncalled.map(({ transferId, key }) => `${transferId} was made under ${key}, which nobody sent`),
    ...stories.flatMap((story) => contradictionsOf(story, byKey.get(story.key) ?? [], books.members)),
    ...books.transfers.flatMap((found) => wrongState(found, byTransfer.get(found.transferId) ?? [])),
    ...changes.flatMap((story) => wrongChange(story, byId.get(story.change.transferId), books.members)),
    ...wrongBalances(books),
    ...(books.records === undefined ? [] : wrongRecords([...stories, ...changes], books.transfers, books.records)),
  ];
}

/** Transfers and reversals that were made by a request which nobody heard anything of: a stop must leave none. */
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

/** What is wrong with the responses to one key by themselves. */
function wrongResponses({ responses, silences }: KeyHistory): string[] {
  const problems: string[] = [];
  const done = responses.filter(isDone);
  const isByAnUnheard = silences > 0 || responses.some(({ moneyMoved }) => moneyMoved === 'unknown');
  if (done.length > 0 && done.every(({ replayed }) => replayed) && !isByAnUnheard)
    problems.push('done, and every request but the replays reported no');
  if (new Set(responses.filter(isKept).map(({ status, text }) => `${status} ${text}`)).size > 1)
    problems.push('responses differ');
  if (done.filter(({ replayed }) => !replayed).length > 1) problems.push('two first responses');
  for (const { status, moneyMoved, shouldRetry } of responses) {
    if (status < 400) continue;
    const isSilent = moneyMoved !== 'no' && moneyMoved !== 'unknown';
    if (isSilent) problems.push(`a ${status} that is silent about money`);
    // Everything is sent with a key, so a failure can be sent again, and a decision is kept.
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
    if (found === undefined) say(`lost: ${transferId} was acknowledged and is not there`);
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

/** Whether a record that somebody read is another one than that of a response. */
function isChanged({ text }: Found, response: ReceivedResponse, members: Books['members']): boolean {
  return text !== undefined && shown(text, members) !== shown(response.text, members);
}

/** Whether a transfer is as it was made. */
function isUntouched({ terms, status, reversals }: Found): boolean {
  return terms.capture === 'manual' ? status === 'pending' : reversals.length === 0;
}

/** The request that made something was answered so, or was not answered. */
function whoMade(
  { responses, silences }: KeyHistory,
  made: { readonly requestId: string },
  transferId: string,
): string[] {
  const response = responses.find(({ requestId }) => requestId === made.requestId);
  if (response === undefined) return silences === 0 ? ['made by a request that nobody sent'] : [];
  if (isDone(response)) return response.replayed ? ['made by a request that was called a replay'] : [];
  if (response.moneyMoved === 'no') return [`a ${response.status} said that no money moved, and it made ${transferId}`];
  if (response.transferId === transferId) return [];
  return [`a ${response.status} named ${response.transferId} and made ${transferId}`];
}

/** The state of a transfer is that in which it was made, or one that somebody asked for and was not refused. */
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
    problems.push(`${transferId}: ${status}, and ${capturedAmount} were captured`);
  }
  if (terms.capture === 'manual' && status !== 'pending') {
    const verb = status === 'completed' ? 'capture' : 'cancel';
    const wanted = asked.filter(
      ({ change }) => change.verb === verb && (verb === 'cancel' || change.amount === capturedAmount),
    );
    if (!wanted.some(mayHaveDone)) problems.push(`${transferId}: ${status} with ${capturedAmount}, which nobody did`);
  }
  const ended = asked.filter(({ change, responses }) => change.verb !== 'reverse' && responses.some(isDone));
  if (ended.length > 1) problems.push(`${transferId}: ended by ${ended.map(({ key }) => key).join(' and ')}`);
  for (const reversal of reversals) {
    if (!asked.some(({ key }) => key === reversal.key))
      problems.push(`${transferId}: reversed under ${reversal.key}, which nobody sent`);
  }
  return problems;
}

/** Whether one of the requests of a key was acknowledged, or may have been and was not answered. */
function mayHaveDone({ responses, silences }: KeyHistory): boolean {
  if (responses.some(({ status }) => status === 409)) return false;
  return silences > 0 || responses.some((response) => isDone(response) || response.moneyMoved === 'unknown');
}

function wrongChange(story: ChangeHistory, found: Found | undefined, members: Books['members']): string[] {
  const { key, change, responses } = story;
  const problems: string[] = wrongResponses(story);
  const isAcknowledged = responses.some(isDone);
  if (found === undefined) problems.push(`${change.transferId} is not there`);
  else if (change.verb === 'reverse') problems.push(...wrongReversal(story, found));
  else if (isAcknowledged) {
    const status = change.verb === 'capture' ? 'completed' : 'canceled';
    const amount = change.verb === 'capture' ? change.amount : 0;
    if (found.status !== status || found.capturedAmount !== amount)
      problems.push(`lost: a ${change.verb} was acknowledged, and it is ${found.status} with ${found.capturedAmount}`);
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
      problems.push(`lost: ${reversalId} was acknowledged and is not there`);
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
    return found === balance ? [] : [`${cardId} has ${found}, and its transfers come to ${balance}`];
  });
}

/** Balances of cards after the transfers: what was captured, without what went back. */
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
 * The part of the books that was made under keys that begin so, where others moved money on the same cards before: what
 * they came to is where this part began.
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

/** Answers that are kept under a key: they may never change. */
export function isKept(response: ReceivedResponse): boolean {
  return isDone(response) || response.status === 409;
}

/** Whether a response acknowledges what was asked for. */
export function isDone({ status }: ReceivedResponse): boolean {
  return status === 200 || status === 201;
}

function inOrder({ type, amount, cardId, destinationCardId, capture }: Terms): readonly unknown[] {
  return [type, amount, cardId, destinationCardId, capture];
}
