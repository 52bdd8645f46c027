import { CARD_RULES, CARD_STATUSES, type Card, type CardStatus } from '../../domain/card.ts';
import { decideTransfer, TRANSFER_CHECKS, type TransferView } from '../../domain/create-transfer.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Account } from '../../domain/ledger.ts';
import { MAXIMUM_BALANCE } from '../../domain/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import {
  TRANSFER_MOVES,
  TRANSFER_STATUSES,
  TRANSFER_TYPES,
  type TransferTerms,
  type TransferType,
} from '../../domain/transfer.ts';
import { inCell, page, table } from './markdown.ts';

/** docs/reference/transfers.md: what a transfer posts, what stops it, and in which order that is looked at. */
export function transferReference(): string {
  return page(
    '# Transfers',
    'This page is made by running the rules of the service on examples.',
    '## What a transfer posts',
    'A posting moves one amount from a source account to a destination account, so the books balance by construction. ' +
      'With automatic capture and no processor, which is every transfer today, a transfer posts when it is created and ' +
      'is completed by that.',
    table(
      ['Type', 'Phase', 'Postings'],
      TRANSFER_TYPES.map((type) => [`\`${type}\``, 'created and completed', postings(type)]),
    ),
    '## States of a transfer',
    table(
      ['State', 'Can become'],
      TRANSFER_STATUSES.map((status) => [
        `\`${status}\``,
        TRANSFER_MOVES[status].map((next) => `\`${next}\``).join(', ') || 'final',
      ]),
    ),
    '## States of a card',
    'An active, suspended or not yet activated card expires by itself when its last day has passed in the time zone of ' +
      'its program.',
    table(['State', 'The card', 'Money in', 'Money out', 'Refused with'], CARD_STATUSES.map(cardRow)),
    '## The order of the checks',
    'The first check that fails is the answer. Before them come the faults of the request itself, its credentials, its ' +
      'form and its amount, and the idempotency key; `docs/reference/api.md` has the whole order of codes.',
    table(
      ['', 'Check', 'Code when it fails'],
      TRANSFER_CHECKS.map(({ name }, at) => [String(at + 1), inCell(name.replaceAll('_', ' ')), codesOf(name)]),
    ),
  );
}

const PROGRAM = 'program';

function account(accountId: string, kind: Account['kind'], balance: bigint): Account {
  return { programId: PROGRAM, accountId, kind, currency: 'USD', balance, held: 0n, floor: 0n, sequence: 0n };
}

const ACCOUNTS: readonly Account[] = [
  account('funding', 'funding', 1000n),
  account('card', 'card', 1000n),
  account('destination card', 'card', 1000n),
];

function card(name: string, changes: Partial<Card> = {}): Card {
  return {
    programId: PROGRAM,
    cardId: name,
    name,
    status: 'active',
    currency: 'USD',
    accountId: name,
    fundingAccountId: 'funding',
    expiresOn: null,
    ...changes,
  };
}

function view(changes: Partial<TransferView> = {}, accounts: readonly Account[] = ACCOUNTS): TransferView {
  return {
    programId: PROGRAM,
    now: 0,
    today: '2026-01-31',
    switches: [],
    card: card('card'),
    destinationCard: card('destination card'),
    account: (accountId) => {
      const found = accounts.find((one) => one.accountId === accountId);
      if (found === undefined) throw new Error(`the examples have no account ${accountId}`);
      return found;
    },
    referenceTakenBy: undefined,
    ...changes,
  };
}

function terms(type: TransferType, changes: Partial<TransferTerms> = {}): TransferTerms {
  const destinationCardName = type === 'card_to_card' ? 'destination card' : null;
  return { type, amount: 100n, cardName: 'card', destinationCardName, currency: null, reference: null, ...changes };
}

function postings(type: TransferType): string {
  const plan = decideTransfer(terms(type), view());
  if (plan instanceof Refusal) throw plan;
  return plan.postings
    .map(({ sourceAccountId, destinationAccountId }) => `${sourceAccountId} → ${destinationAccountId}, the amount`)
    .join('; ');
}

function cardRow(status: CardStatus): readonly string[] {
  const { moneyIn, moneyOut, code, meaning } = CARD_RULES[status];
  const mark = (isOpen: boolean) => (isOpen ? 'yes' : 'no');
  return [`\`${status}\``, meaning, mark(moneyIn), mark(moneyOut), code === null ? '' : `\`${code}\``];
}

const DISABLED = {
  programId: null,
  transferType: null,
  disabled: true,
  reason: null,
  actor: 'operator',
  since: 0,
  until: null,
} as const;

const POOR: readonly Account[] = ACCOUNTS.map((one) => ({ ...one, balance: 0n }));
const FULL: readonly Account[] = ACCOUNTS.map((one) => ({ ...one, balance: MAXIMUM_BALANCE }));

/** Views in which something is wrong; between them every check has something to find. */
const TROUBLES: readonly (readonly [TransferTerms, TransferView])[] = TRANSFER_TYPES.flatMap((type) =>
  [
    view({ switches: [DISABLED] }),
    view({ card: undefined }),
    view({ destinationCard: undefined }),
    ...CARD_STATUSES.map((status) => view({ card: card('card', { status }) })),
    ...CARD_STATUSES.map((status) => view({ destinationCard: card('destination card', { status }) })),
    view({ destinationCard: card('destination card', { currency: 'EUR' }) }),
    view({ referenceTakenBy: 'tr_1' }),
    view({}, POOR),
    view({}, FULL),
  ].map((wrong) => [terms(type, { currency: 'EUR', reference: 'invoice 1' }), wrong] as const),
);

function codesOf(name: string): string {
  const check = TRANSFER_CHECKS.find((one) => one.name === name);
  const found = new Set<ErrorCode>();
  for (const [asked, seen] of check === undefined ? [] : TROUBLES) {
    const finding = check?.examine(asked, seen);
    if (finding?.outcome === 'failed') found.add(finding.refusal.code);
  }
  if (found.size === 0) throw new Error(`no example makes the check ${name} fail; add one to the troubles`);
  return [...found].map((code) => `\`${code}\``).join(', ');
}
