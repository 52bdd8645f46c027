import { getHeapStatistics } from 'node:v8';
import type { Card, CardStatus } from '../../../domain/cards/card.ts';
import type { CountedDay, Direction } from '../../../domain/ledger/limits.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { machineMemory } from '../../foundation/machine-memory.ts';
import type { StoredAccount } from '../../store/ledger/account.ts';
import { type CountedDays, fromLimits, type StoredLimits, toLimits } from '../../store/ledger/limits.ts';

/**
 * A card without a connector, with its account and the account's counters (`days`). The counters are null if they were not loaded.
 */
export type KnownCard = { readonly card: Card; readonly account: StoredAccount; readonly days: CountedDays | null };

/** Memory of an entry in bytes, without the characters of its two strings: the string objects and the entry in the map. */
const ENTRY_BYTES = 100;

/**
 * Returns the default limit in bytes: a sixteenth of the machine's memory, but at most a quarter of V8's heap limit. A card
 * without limits takes about 350 bytes.
 */
export function defaultBytes(): number {
  return Math.min(machineMemory() / 16, getHeapStatistics().heap_size_limit / 4);
}

/**
 * Stores cards in their committed state that earlier groups have used and the last groups have not. Most cards are in that state.
 * Each is packed into one string, which takes a quarter of the memory of the objects, and which the garbage collector does not
 * have to traverse. Above the limit, the oldest entries are removed.
 *
 * It outlives a chain, so it may contain only committed states. A card's version shows whether another process has changed the
 * card, but after a rollback the same version can belong to a different state.
 */
export class CommittedCards {
  readonly #maxBytes: number;
  readonly #texts = new Map<string, string>();
  #bytes = 0;
  /** The latest time of a decision, in milliseconds since 1970. The counters cover the periods around this time. */
  latest = Number.NEGATIVE_INFINITY;
  /** The value of {@link Database.interruptions} before the first group was loaded. */
  interruptions: number | undefined;

  /** @param maxBytes maximum memory in bytes. */
  constructor(maxBytes: number = defaultBytes()) {
    this.#maxBytes = maxBytes;
  }

  /** The number of cards. Their memory is {@link bytes}. */
  get size(): number {
    return this.#texts.size;
  }
  get bytes(): number {
    return this.#bytes;
  }

  put(known: KnownCard): void {
    const { programId, name } = known.card;
    this.forget(programId, name);
    const [key, text] = [keyOf(programId, name), pack(known)];
    this.#texts.set(key, text);
    this.#bytes += sizeOf(key, text);
    for (const [oldest, old] of this.#texts) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldest, old);
    }
  }

  /** Removes and returns a card, because the next group may change it. */
  take(programId: string, name: string): KnownCard | undefined {
    const key = keyOf(programId, name);
    const text = this.#texts.get(key);
    if (text === undefined) return undefined;
    this.#remove(key, text);
    return unpack(programId, name, text);
  }

  forget(programId: string, name: string): void {
    const key = keyOf(programId, name);
    const text = this.#texts.get(key);
    if (text !== undefined) this.#remove(key, text);
  }

  clear(): void {
    this.#texts.clear();
    this.#bytes = 0;
    this.latest = Number.NEGATIVE_INFINITY;
    this.interruptions = undefined;
  }

  #remove(key: string, text: string): void {
    this.#texts.delete(key);
    this.#bytes -= sizeOf(key, text);
  }
}

function keyOf(programId: string, name: string): string {
  return `${programId}\n${name}`;
}

/**
 * Returns the approximate memory of an entry. It counts two bytes per character of the key: if the name of a card has a character
 * outside Latin-1, V8 stores the whole string that way.
 */
function sizeOf(key: string, text: string): number {
  return key.length * 2 + text.length + ENTRY_BYTES;
}

type PackedDays = readonly (readonly [dayStart: number, amount: string, count: string])[];
type Packed = readonly [
  accountId: string,
  cardId: string,
  fundingAccountId: string,
  status: CardStatus,
  currency: string,
  expiresOn: string | null,
  amounts: readonly [balance: string, held: string, incoming: string, sequence: string, version: string],
  floor: string | null,
  limits: StoredLimits | null,
  days: { readonly [Way in Direction]: PackedDays } | null,
];

function pack({ card, account, days }: KnownCard): string {
  const { balance, held, incoming, sequence, version, floor } = account;
  const packed: Packed = [
    card.accountId,
    card.cardId,
    card.fundingAccountId,
    card.status,
    card.currency,
    card.expiresOn,
    [`${balance}`, `${held}`, `${incoming}`, `${sequence}`, `${version}`],
    floor === null ? null : `${floor}`,
    fromLimits(card.limits),
    days === null ? null : { in: days.in.map(packDay), out: days.out.map(packDay) },
  ];
  return JSON.stringify(packed);
}

function packDay({ dayStart, amount, count }: CountedDay): PackedDays[number] {
  return [dayStart, `${amount}`, `${count}`];
}

function unpack(programId: string, name: string, text: string): KnownCard {
  const packed = parseJson(text) as Packed;
  const [accountId, cardId, fundingAccountId, status, currency, expiresOn, amounts, floor, limits, days] = packed;
  const [balance, held, incoming, sequence, version] = amounts.map(BigInt) as [bigint, bigint, bigint, bigint, bigint];
  return {
    card: {
      programId,
      cardId,
      name,
      status,
      currency,
      accountId,
      fundingAccountId,
      expiresOn,
      limits: toLimits(limits),
      connectorId: null,
    },
    account: {
      programId,
      accountId,
      kind: 'card',
      currency,
      balance,
      held,
      incoming,
      floor: floor === null ? null : BigInt(floor),
      sequence,
      version,
    },
    days: days === null ? null : { in: days.in.map(unpackDay), out: days.out.map(unpackDay) },
  };
}

function unpackDay([dayStart, amount, count]: PackedDays[number]): CountedDay {
  return { dayStart, amount: BigInt(amount), count: BigInt(count) };
}
