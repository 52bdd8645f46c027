import type { ComparisonRecord, DifferenceRecord } from '../../../contract/comparisons.ts';
import type { JsonValue } from '../../../contract/reading/json.ts';
import { type ReadComparedCard, readComparedCard } from '../../../contract/reading/read-move-in-line.ts';
import {
  type CardThere,
  compareCard,
  DIFFERENCE_REASONS,
  type Difference,
  type DifferenceCounts,
  reportOf,
} from '../../../domain/comparison.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { toWireSum } from '../../../domain/ledger/money.ts';
import { type CountedLine, withLines } from '../../../domain/move-in.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { cursorFault, DEFAULT_LIMIT, readPage } from '../../calls/page.ts';
import { loadProgram, readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import {
  type ComparedBooks,
  type ComparedHere,
  type Comparison,
  insertComparison,
  insertDifferences,
  listDifferences as listDifferencesStatement,
  listComparisons as listStatement,
  lockComparison,
  readComparedCards,
  readComparison,
  readMovedByCards,
  type StoredDifference,
  toComparedHere,
  toComparison,
  toMovedByCard,
  toStoredDifference,
  updateComparison,
} from '../../store/comparison.ts';
import type { Row } from '../../store/connection/database.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { actorOf, auditOf } from '../audit/audit.ts';
import { toMoment, toTotals } from './move-ins.ts';

/** A UUID that no comparison has. It is looked up instead of a malformed id. */
const NO_COMPARISON = '00000000-0000-0000-0000-000000000000';

/** How many cards here one request compares at most. The file can have far fewer cards than the program. */
const MAX_CARDS_HERE = 2000;

const NEW = {
  status: 'comparing',
  cardsReceived: 0,
  lastCard: null,
  differenceCount: 0,
  differingCards: 0,
  differences: {},
  totalsHere: {},
  totalsThere: {},
  books: { cards: 0, postings: '0', held: '0', fingerprints: '0' },
  comparedAt: null,
  cutOverAt: null,
  cutOverBy: null,
  cutOverNote: null,
} as const;

/** create_comparison: returns the new comparison. */
export async function createComparison(
  service: Service,
  call: Call<'create_comparison'>,
): Promise<Reply<'create_comparison'>> {
  const { program_id: sentId, name, sha256, card_count: cardCount, as_of: sentTime } = call.body;
  const asOf = sentTime === undefined ? null : Date.parse(sentTime);
  const { programId } = await loadProgram(service, sentId);
  return transactUnderKey(service, call, {
    load: {},
    decide: (_, { now }) => {
      if (asOf !== null && asOf > now - SETTLED_MILLISECONDS) {
        const message = `'as_of' is ${sentTime}, which is less than a minute ago or in the future. Omit it to compare the books as they are.`;
        throw schemaRefusal(call, message, '/as_of');
      }
      const by = { createdAt: now, createdBy: actorOf(call.caller) };
      const comparison: Comparison = {
        ...{ ...NEW, programId, comparisonId: idAt(now), name, sha256, asOf, cardCount },
        ...by,
      };
      const record = toComparisonRecord(comparison);
      const audited = { programId, subjectId: record.comparison_id, details: JSON.stringify(record) };
      const writes = [insertComparison(comparison), ...auditOf(call, audited)];
      return { record, subjectId: comparison.comparisonId, writes };
    },
    recall: async (comparisonId) => {
      const [row] = await readRows(service.database, readComparison({ comparisonId }));
      if (row === undefined) throw new Error('the comparison of a stored response does not exist');
      return toComparisonRecord(toComparison(row));
    },
  });
}

/** The balances of an instant are final after this time. */
const SETTLED_MILLISECONDS = 60_000;

/**
 * How many holds of the file one request compares, with those of the last card in addition. Validating and comparing them takes tens of
 * milliseconds, in which the process does nothing else. Without a limit, a request could have 300,000.
 */
const MAX_HOLDS_THERE = 5000;

/** add_compared_cards: compares the next cards of the file, and the cards here between them. Returns the comparison. */
export async function addComparedCards(
  service: Service,
  call: Call<'add_compared_cards'>,
): Promise<Reply<'add_compared_cards'>> {
  const sent = new SentCards(call);
  // Wrong cards are refused before an unknown comparison.
  sent.portion(0);
  for (;;) {
    const known = await loadComparison(service, call);
    const portion = portionOf(call, known, sent);
    if (portion === undefined) return { record: toComparisonRecord(known) };
    const { counted, isWhole, numbered } = await compareNext(service, known, portion);
    const { comparisonId } = known;
    const { comparison, isOutdated } = await transact(
      service.database,
      call.deadline,
      { comparisons: lockComparison({ comparisonId }), clock: READ_SWITCH },
      ({ comparisons: [row], clock }) => {
        const before = requireComparison(call, row);
        const isSame = before.cardsReceived === known.cardsReceived && before.lastCard === known.lastCard;
        if (!isSame || before.status !== 'comparing') {
          return { result: { comparison: before, isOutdated: true }, writes: [], readsOnly: true };
        }
        const comparison: Comparison = isWhole
          ? {
              ...counted,
              status: counted.differenceCount === 0 ? 'equal' : 'different',
              comparedAt: toSwitchReading(clock).now,
            }
          : counted;
        const found = numbered.length === 0 ? [] : [insertDifferences({ comparisonId, sent: numbered })];
        const { programId, cardsReceived: received, differenceCount: differences, status } = comparison;
        const details = JSON.stringify({ cards_received: received, difference_count: differences, status });
        const audited = auditOf(call, { programId, subjectId: toWireId('cmp', comparisonId), details });
        const writes = [...found, updateComparison(comparison), ...audited];
        return { result: { comparison, isOutdated: false }, writes };
      },
    );
    if (!isOutdated) return { record: toComparisonRecord(comparison) };
  }
}

/** The cards of a request. Each is validated once, when it is needed. */
class SentCards {
  readonly #call: Call<'add_compared_cards'>;
  readonly #read: ReadComparedCard[] = [];

  constructor(call: Call<'add_compared_cards'>) {
    this.#call = call;
  }

  /** Returns the cards from an index on, as many as one request compares. */
  portion(from: number): readonly ReadComparedCard[] {
    const cards: ReadComparedCard[] = [];
    let holds = 0;
    for (const [index, sent] of this.#call.body.cards.entries()) {
      if (index < from) continue;
      if (holds >= MAX_HOLDS_THERE) break;
      const card = this.#read[index] ?? this.#validate(sent, index);
      this.#read[index] = card;
      holds += card.holds.length;
      cards.push(card);
    }
    return cards;
  }

  #validate(sent: JsonValue, index: number): ReadComparedCard {
    const card = readComparedCard(sent);
    if (!('problem' in card)) return card;
    const { message, field, code } = card.problem;
    const at = `/cards/${index}${field}`;
    if (code === 'card_number_refused') throw new Refusal(code, message, { field: at });
    throw schemaRefusal(this.#call, message, at);
  }
}

/** The next cards of a request that are not compared yet. `isLast`: no card of the file comes after them. */
type Portion = { readonly cards: readonly ReadComparedCard[]; readonly isLast: boolean };

/** Returns what a request adds, or undefined if it adds nothing. Refuses a gap, too many cards, and another order. */
function portionOf(
  call: Call<'add_compared_cards'>,
  { status, cardsReceived, cardCount, lastCard }: Comparison,
  sent: SentCards,
): Portion | undefined {
  const { first_card: first, cards: all } = call.body;
  if (first > cardsReceived + 1) {
    const message = `The next card of the file is ${cardsReceived + 1}, and you sent cards from ${first} on.`;
    throw schemaRefusal(call, message, '/first_card');
  }
  const last = first + all.length - 1;
  if (last > cardCount) {
    const message = `The file has ${cardCount} cards, as its card_count says, and you sent cards up to ${last}.`;
    throw schemaRefusal(call, message, '/cards');
  }
  const from = cardsReceived - first + 1;
  const cards = sent.portion(from);
  let before = lastCard;
  for (const [index, { card_id: name }] of cards.entries()) {
    if (before !== null && name <= before) {
      const message = `The card '${name}' comes after '${before}', but cards must be in the order of the bytes of their ids, each once.`;
      throw schemaRefusal(call, message, `/cards/${from + index}/card_id`);
    }
    before = name;
  }
  const isLast = cardsReceived + cards.length === cardCount;
  return status !== 'comparing' || (cards.length === 0 && !isLast) ? undefined : { cards, isLast };
}

/** Compares the next cards of both sides, in the order of their names. `isWhole`: no card is left. */
async function compareNext(service: Service, known: Comparison, { cards, isLast }: Portion) {
  const { programId } = known;
  const { currency: ofProgram } = await loadProgram(service, toWireId('prog', programId));
  const before = known.asOf === null ? null : known.asOf + 1;
  const upTo = isLast ? null : (cards.at(-1)?.card_id ?? null);
  const page = { programId, after: known.lastCard ?? '', upTo, before, count: MAX_CARDS_HERE };
  const here = (await readRows(service.database, readComparedCards(page))).map(toComparedHere);
  // If there are more cards here, only the cards of the file up to the last one of this page are compared now.
  const bound = here.length === MAX_CARDS_HERE ? here.at(-1)?.name : undefined;
  const there = cards
    .filter(({ card_id: name }) => bound === undefined || name <= bound)
    .map((card) => toCardThere(card, ofProgram, known.asOf !== null));
  const differences = await differencesOf(service, known, here, there);
  const differing = new Set(differences.map(({ cardName }) => cardName));
  const isWhole = isLast && there.length === cards.length && bound === undefined;
  const namesThere = new Set(there.map(({ name }) => name));
  const compared = here.filter(({ name, takesPart }) => takesPart || namesThere.has(name));
  const counted: Comparison = {
    ...known,
    cardsReceived: known.cardsReceived + there.length,
    lastCard: bound ?? upTo ?? there.at(-1)?.name ?? known.lastCard,
    differenceCount: known.differenceCount + differences.length,
    differingCards: known.differingCards + differing.size,
    differences: withCounts(known.differences, differences),
    totalsHere: withLines(known.totalsHere, compared.flatMap(linesOf), 1),
    totalsThere: withLines(known.totalsThere, there.flatMap(linesOf), 1),
    books: withBooks(known.books, here),
  };
  const numbered = differences.map(
    (difference, index): StoredDifference => ({ ...difference, number: known.differenceCount + index + 1 }),
  );
  return { counted, isWhole, numbered };
}

function toCardThere(card: ReadComparedCard, ofProgram: string, isPast: boolean): CardThere {
  return {
    name: card.card_id,
    currency: card.currency ?? ofProgram,
    balance: BigInt(card.balance),
    // The books do not keep the statuses of the past.
    status: isPast ? null : (card.status ?? null),
    holds: card.holds.map(({ amount, reference = null }) => ({ amount: BigInt(amount), reference })),
  };
}

/** Compares cards with the same names. Reads transfers only for cards whose balances differ. */
async function differencesOf(
  service: Service,
  { programId, asOf }: Comparison,
  here: readonly ComparedHere[],
  there: readonly CardThere[],
): Promise<readonly Difference[]> {
  const ofFile = new Map(there.map((card) => [card.name, card]));
  const cardIds = here.flatMap(({ cardId, name, balance }) => {
    const other = ofFile.get(name);
    return other === undefined || other.balance === balance ? [] : [cardId];
  });
  const before = asOf === null ? null : asOf + 1;
  const moved =
    cardIds.length === 0 ? [] : await readRows(service.database, readMovedByCards({ programId, cardIds, before }));
  const transfers = Map.groupBy(moved.map(toMovedByCard), ({ cardId }) => cardId);
  const inBooks = new Map(here.map((card) => [card.name, card]));
  const names = [...new Set([...inBooks.keys(), ...ofFile.keys()])].sort();
  return names.flatMap((name) => {
    const card = inBooks.get(name);
    const other = ofFile.get(name);
    if (card !== undefined && other === undefined && !card.takesPart) return [];
    return compareCard(card && { ...card, transfers: transfers.get(card.cardId) ?? [] }, other);
  });
}

function withCounts(before: DifferenceCounts, differences: readonly Difference[]): DifferenceCounts {
  const counts = { ...before };
  for (const { reason } of differences) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

function withBooks(
  { cards, postings, held, fingerprints }: ComparedBooks,
  here: readonly ComparedHere[],
): ComparedBooks {
  const sumOf = (of: (card: ComparedHere) => bigint) => here.reduce((sum, card) => sum + of(card), 0n);
  return {
    cards: cards + here.length,
    postings: String(BigInt(postings) + sumOf(({ sequence }) => sequence)),
    held: String(BigInt(held) + sumOf((card) => card.held)),
    fingerprints: String(BigInt(fingerprints) + sumOf(({ fingerprint }) => fingerprint)),
  };
}

const linesOf = ({ currency, balance, holds }: Pick<CardThere, 'currency' | 'balance' | 'holds'>): CountedLine[] => [
  { kind: 'card', currency, amount: balance },
  ...holds.map(({ amount }) => ({ kind: 'hold' as const, currency, amount })),
];

/** list_comparisons: returns the comparisons, newest first. */
export async function listComparisons(
  service: Service,
  call: Call<'list_comparisons'>,
): Promise<Reply<'list_comparisons'>> {
  const programId = readProgramFilter(call, call.query.program_id);
  const record = await readPage(service, call, {
    prefix: 'cmp',
    statement: (after, count) => listStatement(programId, after, count),
    read: toComparison,
    idOf: ({ comparisonId }) => comparisonId,
    show: toComparisonRecord,
  });
  return { record };
}

/** get_comparison: returns the comparison, or throws `comparison_not_found`. */
export async function getComparison(service: Service, call: Call<'get_comparison'>): Promise<Reply<'get_comparison'>> {
  return { record: toComparisonRecord(await loadComparison(service, call)) };
}

/** list_differences: returns the differences in the order of the cards. */
export async function listDifferences(
  service: Service,
  call: Call<'list_differences'>,
): Promise<Reply<'list_differences'>> {
  const { limit = DEFAULT_LIMIT, cursor, reason = null } = call.query;
  const after = cursor === undefined ? 0 : Number(/^dif_([1-9][0-9]{0,8})$/.exec(cursor)?.[1]);
  if (Number.isNaN(after)) throw cursorFault(call);
  const { comparisonId } = await loadComparison(service, call);
  const rows = await readRows(service.database, listDifferencesStatement(comparisonId, reason, after, limit + 1));
  const found = rows.slice(0, limit).map(toStoredDifference);
  const last = found.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return { record: { data: found.map(toDifferenceRecord), next_cursor: hasMore ? `dif_${last.number}` : null } };
}

type InComparison = { readonly params: { readonly comparison_id: string } };

/** Reads the comparison of a path. Throws `comparison_not_found`. */
export async function loadComparison({ database }: Pick<Service, 'database'>, call: InComparison): Promise<Comparison> {
  const inner = fromWireId('cmp', call.params.comparison_id);
  const [row] = await readRows(database, readComparison({ comparisonId: inner ?? NO_COMPARISON }));
  return requireComparison(call, row);
}

/** Returns the comparison of a row. Throws `comparison_not_found` without a row. */
export function requireComparison(
  { params: { comparison_id: sentId } }: InComparison,
  row: Row | undefined,
): Comparison {
  if (row !== undefined) return toComparison(row);
  const hint = fromWireId('cmp', sentId) === undefined ? ' The id of a comparison is cmp_ and 32 hex digits.' : '';
  throw new Refusal('comparison_not_found', `There is no comparison '${sentId}'.${hint}`);
}

/** Returns a comparison as defined by the contract. */
export function toComparisonRecord(comparison: Comparison): ComparisonRecord {
  const { differences, differingCards, cardCount, name, totalsHere, comparedAt } = comparison;
  return {
    comparison_id: toWireId('cmp', comparison.comparisonId),
    program_id: toWireId('prog', comparison.programId),
    name,
    sha256: comparison.sha256,
    as_of: toMoment(comparison.asOf),
    status: comparison.status,
    card_count: cardCount,
    cards_received: comparison.cardsReceived,
    difference_count: comparison.differenceCount,
    differences: DIFFERENCE_REASONS.flatMap((reason) => {
      const count = differences[reason];
      return count === undefined ? [] : [{ reason, count }];
    }),
    totals_here: toTotals(totalsHere),
    totals_there: toTotals(comparison.totalsThere),
    report:
      comparedAt === null ? null : reportOf({ fileName: name, cardCount, differingCards, differences, totalsHere }),
    created_at: new Date(comparison.createdAt).toISOString(),
    created_by: comparison.createdBy,
    compared_at: toMoment(comparedAt),
    cut_over_at: toMoment(comparison.cutOverAt),
    cut_over_by: comparison.cutOverBy,
    note: comparison.cutOverNote,
  };
}

function toDifferenceRecord({ cardName, here, there, transferId, ...shown }: StoredDifference): DifferenceRecord {
  return {
    number: shown.number,
    card_id: cardName,
    reason: shown.reason,
    currency: shown.currency,
    here: here === null ? null : toWireSum(here),
    there: there === null ? null : toWireSum(there),
    transfer_id: transferId === null ? null : toWireId('tr', transferId),
    reference: shown.reference,
    message: shown.message,
  };
}
