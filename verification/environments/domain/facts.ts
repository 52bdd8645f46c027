import type { Direction } from '../../../domain/ledger/limits.ts';
import { destinationOf, fundingOf, LIMITS, type StandingLimit, sourceOf, sum, worldOf } from '../../model/books.ts';
import { nextPeriodAfter } from '../../model/calendar.ts';
import { LARGEST_AMOUNT, LARGEST_BALANCE } from '../../model/model.ts';
import type { SerialBooks } from '../../model/serial-books.ts';

/** The program of a story in the model. */
export const PROGRAM = '0';

/** The currency of the program, and one without limits of the program. */
export const CURRENCIES = ['USD', 'EUR'] as const;

/** A fact that a caller could read: its subject, and values in a fixed order. Amounts are bigint, times are numbers. */
export type Fact = {
  readonly about: string;
  readonly values: Readonly<Record<string, string | bigint | number | null>>;
};

/** Whether two facts are equal. Millions are compared and only a few are shown, so this builds no text. */
export function isSameFact(one: Fact, other: Fact): boolean {
  if (one.about !== other.about) return false;
  for (const name in one.values) if (one.values[name] !== other.values[name]) return false;
  return Object.keys(one.values).length === Object.keys(other.values).length;
}

/** A fact as a line of text. */
export function shownFact({ about, values }: Fact): string {
  const shown = (value: Fact['values'][string]) => (typeof value === 'number' ? new Date(value).toISOString() : value);
  const listed = Object.entries(values).map(([name, value]) => `${name} ${shown(value)}`);
  return `${about}: ${listed.join(', ')}`;
}

/** Everything that a caller can read, as the model sees it: accounts, cards, transfers, limits. */
export function factsOf({ books }: SerialBooks): readonly Fact[] {
  const ofProgram = CURRENCIES.flatMap((currency) => [
    [`world ${currency}`, worldOf(PROGRAM, currency)] as const,
    [`funding ${currency}`, fundingOf(PROGRAM, currency)] as const,
  ]);
  const names = [...books.cards.keys()];
  const accounts = [...ofProgram, ...names.map((name) => [name, name] as const)];
  return [
    ...accounts.map(([name, account]) => {
      const { balance, held, incoming, lines } = books.sums(account);
      return { about: `account ${name}`, values: { balance, held, incoming, available: balance - held, lines } };
    }),
    ...[...books.cards].map(([name, { expiresOn }]) => {
      return { about: `card ${name}`, values: { status: books.cardStatus(name), lastDay: expiresOn } };
    }),
    ...[...books.transfers].map(([id, transfer]) => {
      const status = books.status(transfer);
      const { captured, reversals, errorCode: error, expiresAt, updatedAt, completedAt } = transfer;
      const outcome = status === 'pending' || status === 'scheduled' ? 'open' : 'final';
      const amounts = { captured, reversed: sum(reversals) };
      return {
        about: `transfer ${id}`,
        values: { status, outcome, ...amounts, error, expiresAt, updatedAt, completedAt },
      };
    }),
    ...(['in', 'out'] as const).flatMap((direction) => [
      ...CURRENCIES.flatMap((currency) =>
        books
          .limitsOnAll(PROGRAM, currency, direction)
          .map((limit) => limitFact({ books }, currency, direction, limit)),
      ),
      ...names.flatMap((name) =>
        books.limitsOn(name, direction).map((limit) => limitFact({ books }, name, direction, limit)),
      ),
    ]),
  ];
}

function limitFact(
  { books }: Pick<SerialBooks, 'books'>,
  whose: string,
  direction: Direction,
  limit: StandingLimit,
): Fact {
  const [period] = LIMITS[limit.name];
  const freesAt = period === null ? null : nextPeriodAfter(books.now, period, books.program(PROGRAM).zone);
  return { about: `limit of ${whose} ${direction}`, values: { ...limit, freesAt } };
}

/** The result of get_card_limits for a card: how much it can load or unload, and how much its balance may still grow. */
export function outlookOf(serial: SerialBooks, name: string): readonly Fact[] {
  const { books } = serial;
  const most = books.maximumBalance(name);
  const { balance, incoming } = books.sums(name);
  const more = most === null ? 0n : most.value - balance - incoming;
  const onBalance = { value: null, source: null, left: null, ...most, ...(most && { left: more > 0n ? more : 0n }) };
  return [
    ...(['in', 'out'] as const).flatMap((direction) => outlookTo(serial, name, direction)),
    { about: `outlook of ${name} balance`, values: onBalance },
  ];
}

/** Finds the largest amount that can be loaded or unloaded now. Only these amounts, or nothing, are possible. */
function outlookTo({ books, model }: SerialBooks, card: string, direction: Direction): readonly Fact[] {
  const { currency } = books.card(card);
  const type = direction === 'in' ? ('load' as const) : ('unload' as const);
  const route = { program: PROGRAM, type, card, destination: null, currency };
  const limits = books.limitsOf(route);
  const [source, destination] = [sourceOf(route), destinationOf(route)];
  const { balance, incoming } = books.sums(destination);
  const rooms = [LARGEST_BALANCE, books.cards.has(destination) ? books.maximumBalance(destination)?.value : null];
  const bounds = [
    ...limits.flatMap(({ value, left }) => [value, left ?? value]),
    ...rooms.map((room) => (room ?? 0n) - balance - incoming),
    ...[LARGEST_AMOUNT, books.available(source)],
  ].filter((amount) => amount >= 1n && amount <= LARGEST_AMOUNT);
  const terms = { reference: null, capture: 'automatic', expiresAt: null, scheduledFor: null } as const;
  const tried = bounds.filter((amount) => model.refuseTransfer({ ...route, ...terms, amount }, true) === null);
  const floors = limits.flatMap(({ name, value }) => (name === 'minimum_amount' ? [value] : []));
  const code = model.refuseStates(route)?.code ?? null;
  return [
    {
      about: `outlook of ${card} ${direction}`,
      values: { code, most: largest(tried, 0n), least: largest(floors, 1n) },
    },
    ...limits.map((limit) => limitFact({ books }, card, direction, limit)),
  ];
}

function largest(amounts: readonly bigint[], atLeast: bigint): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), atLeast);
}
