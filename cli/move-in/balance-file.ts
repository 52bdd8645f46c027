import { createHash } from 'node:crypto';
import { MAX_MOVE_IN_LINES } from '../../contract/move-ins.ts';
import type { ComparedCard, DifferenceRecord, MoveInLine, UpdateCardBody } from '../../sdk/client.ts';
import { withRoomFor } from './check-lines.ts';
import type { SentMoveInLine } from './move-in-file.ts';

/** The code of a hold in {@link BalanceFile}. Higher codes are cards. */
const HOLD = 0;

/** Limits the size of a request with many holds. 255 characters for each reference make less than half of the largest body. */
const MAX_PORTION_HOLDS = 4000;

/**
 * The cards of a checked file with their holds, in the order of the bytes of their ids. A card needs about 30 bytes and its id. Objects
 * would need several times as much, and would keep the garbage collector busy.
 */
export class BalanceFile {
  cardCount = 0;
  #size = 0;
  #ids = Buffer.alloc(1 << 16);
  /** Where the id of an entry ends. The id of the next entry begins there. */
  #ends = new Float64Array(1024);
  #amounts = new Float64Array(1024);
  /** HOLD, or 1 and the index in `#cards`. */
  #codes = new Uint32Array(1024);
  /** The pairs of a currency and a status that occur. */
  readonly #cards: Pick<ComparedCard, 'currency' | 'status'>[] = [];
  readonly #codeOf = new Map<string, number>();
  readonly #references = new Map<number, string>();
  #order = new Uint32Array(0);

  /** Reads the lines of a file. Lines with finished transfers are left out. */
  static async read(lines: AsyncIterable<SentMoveInLine>): Promise<BalanceFile> {
    const file = new BalanceFile();
    for await (const { sent } of lines) file.#add(sent);
    file.#sort();
    return file;
  }

  /** The cards in portions for requests, each card with all of its holds. */
  *portions(): Generator<readonly ComparedCard[]> {
    let portion: ComparedCard[] = [];
    let holds = 0;
    for (const card of this.#inOrder()) {
      portion.push(card);
      holds += card.holds?.length ?? 0;
      if (portion.length < MAX_MOVE_IN_LINES && holds < MAX_PORTION_HOLDS) continue;
      yield portion;
      portion = [];
      holds = 0;
    }
    if (portion.length > 0) yield portion;
  }

  #add({ kind, card_id: cardId, ...rest }: MoveInLine): void {
    if (kind !== 'card' && kind !== 'hold') return;
    const at = this.#size;
    const start = this.#startOf(at);
    const end = start + cardId.length;
    if (end > this.#ids.length) this.#ids = Buffer.concat([this.#ids], Math.max(end, this.#ids.length * 2));
    // Ids are visible ASCII characters.
    this.#ids.write(cardId, start, 'latin1');
    this.#ends = withRoomFor(this.#ends, at);
    this.#amounts = withRoomFor(this.#amounts, at);
    this.#codes = withRoomFor(this.#codes, at);
    this.#ends[at] = end;
    this.#amounts[at] = Number(kind === 'card' ? rest.balance : rest.amount);
    this.#codes[at] = kind === 'card' ? this.#cardCode(rest) : HOLD;
    if (kind === 'hold' && rest.reference !== undefined) this.#references.set(at, rest.reference);
    if (kind === 'card') this.cardCount += 1;
    this.#size += 1;
  }

  #cardCode({ currency, status }: Pick<MoveInLine, 'currency' | 'status'>): number {
    const name = `${currency ?? ''} ${status ?? ''}`;
    const known = this.#codeOf.get(name);
    if (known !== undefined) return known;
    this.#cards.push({ ...(currency && { currency }), ...(status && { status }) });
    this.#codeOf.set(name, this.#cards.length);
    return this.#cards.length;
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] ?? 0);
  }

  /** Sorts by id. A card comes before its holds, as in the file. */
  #sort(): void {
    const ids = this.#ids;
    this.#order = Uint32Array.from({ length: this.#size }, (_, index) => index).sort((left, right) => {
      const compared = ids.compare(ids, this.#startOf(right), this.#ends[right], this.#startOf(left), this.#ends[left]);
      return compared === 0 ? left - right : compared;
    });
  }

  *#inOrder(): Generator<ComparedCard> {
    let card: ComparedCard | undefined;
    let holds: NonNullable<ComparedCard['holds']>[number][] = [];
    const whole = (before: ComparedCard): ComparedCard => (holds.length === 0 ? before : { ...before, holds });
    for (const index of this.#order) {
      const code = this.#codes[index] ?? HOLD;
      const amount = this.#amounts[index] ?? 0;
      if (code === HOLD) {
        const reference = this.#references.get(index);
        holds.push({ amount, ...(reference !== undefined && { reference }) });
        continue;
      }
      if (card !== undefined) yield whole(card);
      holds = [];
      const cardId = this.#ids.toString('latin1', this.#startOf(index), this.#ends[index]);
      card = { card_id: cardId, balance: amount, ...this.#cards[code - 1] };
    }
    if (card !== undefined) yield whole(card);
  }
}

/** A status that a card has in the file and not here. */
type OtherStatus = { readonly cardId: string; readonly status: NonNullable<UpdateCardBody['status']> };

/** What brings the cards here to the state of the file. */
export type Delta = {
  /** The lines of a move-in, in an order in which each can take effect. The same differences give the same lines. */
  readonly lines: readonly MoveInLine[];
  readonly statuses: readonly OtherStatus[];
  /** The differences that stay. See {@link adviceFor}. */
  readonly unresolved: readonly DifferenceRecord[];
};

/** What makes a delta. `balanceOf` returns the current balance of a card here. */
export type DeltaSources = {
  readonly differences: readonly DifferenceRecord[];
  readonly lines: AsyncIterable<SentMoveInLine>;
  readonly balanceOf: (cardId: string) => Promise<number>;
};

/** The reasons of differences whose delta needs lines of the file. */
const NEED_LINES: readonly DifferenceRecord['reason'][] = [
  'card_only_there',
  'other_status',
  'hold_only_there',
  'hold_captured_there',
  'other_hold_amount',
];

/** What to do about a difference that a delta cannot resolve. */
export function adviceFor({ reason }: DifferenceRecord): string {
  if (reason === 'card_only_here') return 'If the card has no money, close it here. Otherwise correct the export.';
  if (reason === 'other_status') return 'A card cannot become preactive again. Correct the export.';
  return 'A card cannot change its currency. Correct the export.';
}

/** Makes the last delta from the differences of a comparison. */
export async function deltaOf({ differences, lines, balanceOf }: DeltaSources): Promise<Delta> {
  const ofFile = await linesOfCards(lines, differences);
  const releases: MoveInLine[] = [];
  const changes: MoveInLine[] = [];
  const cards: MoveInLine[] = [];
  const transfers: MoveInLine[] = [];
  const holds: MoveInLine[] = [];
  const statuses: OtherStatus[] = [];
  const unresolved: DifferenceRecord[] = [];
  const change = (cardId: string, before: number, balance: number): void => {
    changes.push({ kind: 'change', card_id: cardId, balance_before: before, balance });
  };
  for (const difference of differences) {
    const { card_id: cardId, reason, here, there, transfer_id: transferId } = difference;
    const known = ofFile.get(cardId) ?? [];
    const ofKind = (kind: MoveInLine['kind']) => known.filter((line) => line.kind === kind);
    const [card] = ofKind('card');
    if (reason === 'hold_released_there' || reason === 'hold_captured_there' || reason === 'other_hold_amount') {
      releases.push({ kind: 'release', card_id: cardId, transfer_id: transferId ?? '' });
    }
    if (reason === 'hold_only_there' || reason === 'other_hold_amount') holds.push(takeHold(known, difference));
    if (reason === 'hold_captured_there') change(cardId, await balanceOf(cardId), Number(card?.balance));
    if (BALANCE_REASONS.includes(reason)) change(cardId, Number(here), Number(there));
    const status = reason === 'other_status' ? card?.status : undefined;
    if (status !== undefined && status !== 'preactive') statuses.push({ cardId, status });
    if (status === 'preactive' || UNRESOLVED.includes(reason)) unresolved.push(difference);
    if (reason !== 'card_only_there') continue;
    cards.push(...ofKind('card'));
    transfers.push(...ofKind('transfer'));
    holds.push(...ofKind('hold'));
  }
  // A release makes money available for a change, and a change for a hold.
  return { lines: [...releases, ...changes, ...cards, ...transfers, ...holds], statuses, unresolved };
}

const UNRESOLVED: readonly DifferenceRecord['reason'][] = ['card_only_here', 'other_currency'];

const BALANCE_REASONS: readonly DifferenceRecord['reason'][] = [
  'transfer_only_there',
  'transfer_only_here',
  'other_balance',
];

/** Reads the lines of the cards whose differences need them. */
async function linesOfCards(
  lines: AsyncIterable<SentMoveInLine>,
  differences: readonly DifferenceRecord[],
): Promise<ReadonlyMap<string, MoveInLine[]>> {
  const needing = differences.filter(({ reason }) => NEED_LINES.includes(reason));
  const found = new Map(needing.map(({ card_id: cardId }): [string, MoveInLine[]] => [cardId, []]));
  if (found.size === 0) return found;
  for await (const { sent } of lines) found.get(sent.card_id)?.push(sent);
  return found;
}

/**
 * Takes the hold of a difference out of the lines of its card. Of several equal ones it takes the last, because the earlier ones are more
 * likely to be here already.
 */
function takeHold(lines: MoveInLine[], { card_id: cardId, there, reference }: DifferenceRecord): MoveInLine {
  const isIt = (line: MoveInLine): boolean =>
    line.kind === 'hold' && line.amount === Number(there) && (line.reference ?? null) === reference;
  const [taken] = lines.splice(lines.findLastIndex(isIt), 1);
  if (taken === undefined || !isIt(taken)) throw new Error(`the file does not have the hold on the card ${cardId}`);
  return taken;
}

/**
 * The hash of a delta, 64 hex digits. The same file, time and differences have the same hash, so that a delta is continued after an
 * interruption. `round` is 2 and more if the delta has taken effect before and the same differences are back.
 */
export function hashOfDelta(sha256: string, asOf: string, { lines }: Delta, round: number): string {
  return createHash('sha256')
    .update(JSON.stringify([sha256, asOf, round, lines]))
    .digest('hex');
}
