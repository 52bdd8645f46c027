import { PERIODS, type Period } from '../../../domain/ledger/limits.ts';
import { READ_DAYS } from '../../../server/store/ledger/limits.ts';
import { dayIn, calendarAt as localCalendarAt } from '../../../test/harness/local-time.ts';
import { memoized } from '../../model/calendar.ts';
import { cardsOf, raiseVersion, shown } from './accounts.ts';
import { type Meaning, type Meanings, NOTHING } from './meaning.ts';
import { columnsOf, type StoredRow } from './parameters.ts';
import { disabledScopes } from './switch.ts';
import type { Transaction } from './transaction.ts';

const DAY = 86_400_000;

const FOR_DECISION = [
  ...(['program_id', 'card_id', 'name', 'status', 'currency', 'account_id', 'funding_account_id'] as const),
  ...(['limits', 'connector_id', 'expires_on'] as const),
];

function forDecision(transaction: Transaction, card: StoredRow): StoredRow {
  const program = transaction.find('program', String(card.program_id));
  const isLimited = card.limits !== null || (program !== undefined && program.card_limits !== null);
  return {
    ...columnsOf(card, FOR_DECISION),
    used: isLimited ? countedDays(transaction, card.account_id) : null,
  };
}

function countedDays(transaction: Transaction, accountId: unknown): readonly unknown[] {
  const from = transaction.clock() - READ_DAYS * DAY;
  const isCounted = (row: StoredRow): boolean =>
    row.account_id === accountId && (row.day_start as Date).getTime() > from;
  return transaction
    .scan('limit_counter', isCounted)
    .map((row) => [row.direction, (row.day_start as Date).getTime(), String(row.amount), String(row.count)]);
}

/** The calendar of a program's time zone. */
type Calendar = { readonly today: string; readonly periods: Readonly<Record<`${Period}_${'start' | 'end'}`, bigint>> };

const keepCalendar = memoized<Calendar>();

export function calendarAt(time: number, zone: unknown): Calendar {
  const today = dayIn(String(zone), time);
  return keepCalendar(`${zone} ${today}`, () => {
    const found = localCalendarAt(time, String(zone));
    const bounds = PERIODS.flatMap((period) => [
      [`${period}_start`, BigInt(found[period].start)],
      [`${period}_end`, BigInt(found[period].end)],
    ]);
    return { today, periods: Object.fromEntries(bounds) };
  });
}

/** Today in the time zone of a program. */
export function todayOf(transaction: Transaction, programId: unknown): string {
  return calendarAt(transaction.clock(), transaction.find('program', String(programId))?.time_zone).today;
}

const readRules: Meaning = (transaction, { rows, values: [withDays] }) => {
  const time = Math.floor(transaction.clock());
  const disabled = disabledScopes(transaction);
  return rows('wanted').flatMap(({ program_id: id }) => {
    const program = transaction.find('program', String(id));
    if (program === undefined) return [];
    const { program_id, currency, limits, card_limits, funding_low_threshold } = program;
    const calendar = calendarAt(time, program.time_zone);
    const isFunding = (row: StoredRow): boolean =>
      row.owner_id === id && row.kind === 'funding' && row.currency === currency;
    return [
      {
        now: BigInt(time),
        disabled: disabled.length === 0 ? null : disabled,
        disabled_at_connectors: null,
        ...{ program_id, currency, limits, card_limits, funding_low_threshold },
        today: calendar.today,
        ...calendar.periods,
        used:
          limits === null || withDays === false
            ? null
            : transaction.scan('account', isFunding).flatMap((account) => countedDays(transaction, account.account_id)),
      },
    ];
  });
};

/** Cards, and the rules of their programs. */
export const CARD_STATEMENTS: Meanings = {
  read_program_rules: readRules,
  read_rules_of_programs: readRules,

  read_cards(transaction, { rows }) {
    return rows('sent').flatMap(({ program_id, name }) =>
      transaction
        .scan('card', (card) => card.program_id === program_id && card.name === name)
        .map((card) => forDecision(transaction, card)),
    );
  },

  read_cards_with_accounts(transaction, { rows }) {
    const found = rows('sent').flatMap(({ program_id, name, with_funding }) =>
      transaction
        .scan('card', (card) => card.program_id === program_id && card.name === name)
        .map((card) => ({ card: forDecision(transaction, card), with_funding })),
    );
    const brought = new Set<unknown>();
    return found
      .sort((left, right) => (String(left.card.card_id) < String(right.card.card_id) ? -1 : 1))
      .flatMap(({ card, with_funding }) => {
        const { account_id, funding_account_id: funding } = card;
        const isBrought = with_funding === true && !brought.has(funding);
        if (isBrought) brought.add(funding);
        return [account_id, ...(isBrought ? [funding] : [])].flatMap((id) => {
          const account = transaction.find('account', String(id));
          return account === undefined ? [] : [{ ...card, ...shown(account), is_of_card: id === account_id }];
        });
      });
  },

  read_cards_of_transfers(transaction, { rows }) {
    return rows('sent').flatMap(({ program_id, transfer_id }) => {
      const transfer = transaction.find('transfer', String(transfer_id));
      if (transfer === undefined || transfer.program_id !== program_id) return [];
      return cardsOf(transaction, transfer).map((card) => forDecision(transaction, card));
    });
  },

  read_card_details(transaction, { values: [programId, name] }) {
    const [card] = transaction.scan('card', (row) => row.program_id === programId && row.name === name);
    if (card === undefined) return NOTHING;
    const { holder_reference, last_four, metadata, created_at, updated_at, account_id } = card;
    const account = transaction.find('account', String(account_id)) ?? {};
    const { kind, balance, held, incoming, floor, sequence, version } = account;
    return [
      {
        ...columnsOf(card, FOR_DECISION),
        ...{ holder_reference, last_four, metadata, created_at, updated_at },
        today: todayOf(transaction, programId),
        ...{ kind, balance, held, incoming, floor, sequence, version },
      },
    ];
  },

  *update_card(transaction, { values }) {
    const [status, holder_reference, last_four, expires_on, limits, metadata, updated_at, , cardId] = values;
    const key = String(cardId);
    const isWritten = yield* transaction.update('card', key, (card) => ({
      ...card,
      ...{ status, holder_reference, last_four, expires_on, updated_at },
      limits: limits === null ? null : JSON.parse(String(limits)),
      metadata: JSON.parse(String(metadata)),
    }));
    if (isWritten) yield* raiseVersion(transaction, transaction.newest('card', key)?.account_id);
    return NOTHING;
  },
};
