/** What a request asked for; amounts in minor units. */
export type Terms = {
  readonly type: 'load' | 'unload' | 'card_to_card';
  readonly amount: number;
  readonly cardId: string;
  readonly destinationCardId: string | null;
};

/** One whole answer to one request. */
export type Answer = {
  readonly requestId: string;
  readonly status: number;
  readonly text: string;
  /** As the header says; undefined when there is none. */
  readonly moneyMoved: string | undefined;
  readonly transferId: string | undefined;
  readonly replayed: boolean;
};

/** Everything that was sent and heard under one idempotency key. */
export type Story = {
  readonly key: string;
  readonly terms: Terms;
  readonly answers: readonly Answer[];
  /** Requests that may have arrived and were never answered. */
  readonly silences: number;
};

/** A transfer as it is found in the ledger. */
export type Found = {
  readonly transferId: string;
  /** The request that made it. */
  readonly requestId: string;
  /** The idempotency key, which every request also carries as metadata. */
  readonly key: string;
  readonly terms: Terms;
  readonly status: string;
  /** Its record as the service shows it, to the letter; undefined where nobody asked. */
  readonly text?: string | undefined;
};

/** The books as they are found: transfers, and the balance of every card that takes part. */
export type Books = {
  readonly transfers: readonly Found[];
  readonly opening: ReadonlyMap<string, number>;
  readonly balances: ReadonlyMap<string, number>;
};

/**
 * Compares what clients were told with what the books say, and gives a sentence for each contradiction. It trusts
 * nothing but its own record of what was sent and heard.
 */
export function findContradictions(stories: readonly Story[], books: Books): string[] {
  const byKey = Map.groupBy(books.transfers, ({ key }) => key);
  const known = new Set(stories.map(({ key }) => key));
  const uncalled = books.transfers.filter(({ key }) => !known.has(key));
  return [
    ...uncalled.map(({ transferId, key }) => `${transferId} was made under ${key}, which nobody sent`),
    ...stories.flatMap((story) => contradictionsOf(story, byKey.get(story.key) ?? [])),
    ...wrongBalances(books),
  ];
}

function contradictionsOf(story: Story, made: readonly Found[]): string[] {
  const { key, terms, answers } = story;
  const problems: string[] = [];
  const say = (problem: string): void => void problems.push(`${key}: ${problem}`);
  if (made.length > 1) say(`doubled: ${made.map(({ transferId }) => transferId).join(' and ')}`);
  if (new Set(answers.filter(isKept).map(({ status, text }) => `${status} ${text}`)).size > 1) say('answers differ');
  if (answers.filter(({ status, replayed }) => status === 201 && !replayed).length > 1) say('two first answers');
  for (const answer of answers.filter(({ status }) => status === 201)) {
    const { transfer_id: transferId } = JSON.parse(answer.text) as { transfer_id: string };
    const found = made.find((candidate) => candidate.transferId === transferId);
    if (found === undefined) say(`lost: ${transferId} was acknowledged and is not there`);
    else if (found.text !== undefined && found.text !== answer.text) say(`changed: ${found.text} from ${answer.text}`);
  }
  for (const found of made) {
    if (JSON.stringify(inOrder(found.terms)) !== JSON.stringify(inOrder(terms))) say('made with other terms');
    if (found.status !== 'completed') say(`left ${found.status}`);
    if (answers.some(({ status }) => status === 409)) say('refused and made');
    for (const problem of whoMade(story, found)) say(problem);
  }
  for (const { status, moneyMoved } of answers) {
    if (status >= 400 && moneyMoved !== 'no' && moneyMoved !== 'unknown') say(`a ${status} that is silent about money`);
  }
  return problems;
}

/** The request that made a transfer was answered so, or was not answered. */
function whoMade({ answers, silences }: Story, found: Found): string[] {
  const answer = answers.find(({ requestId }) => requestId === found.requestId);
  if (answer === undefined) return silences === 0 ? ['made by a request that nobody sent'] : [];
  if (answer.status === 201) return answer.replayed ? ['made by a request that was called a replay'] : [];
  if (answer.moneyMoved === 'no')
    return [`a ${answer.status} said that no money moved, and it made ${found.transferId}`];
  if (answer.transferId === found.transferId) return [];
  return [`a ${answer.status} named ${answer.transferId} and made ${found.transferId}`];
}

function wrongBalances({ transfers, opening, balances }: Books): string[] {
  const expected = new Map(opening);
  const add = (cardId: string, amount: number): void => void expected.set(cardId, (expected.get(cardId) ?? 0) + amount);
  for (const { terms } of transfers) {
    add(terms.cardId, terms.type === 'load' ? terms.amount : -terms.amount);
    if (terms.destinationCardId !== null) add(terms.destinationCardId, terms.amount);
  }
  return [...expected].flatMap(([cardId, balance]) => {
    const found = balances.get(cardId);
    return found === balance ? [] : [`${cardId} has ${found}, and its transfers come to ${balance}`];
  });
}

/** Answers that are kept under a key: they may never change. */
export function isKept({ status }: Answer): boolean {
  return status === 201 || status === 409;
}

function inOrder({ type, amount, cardId, destinationCardId }: Terms): readonly unknown[] {
  return [type, amount, cardId, destinationCardId];
}
