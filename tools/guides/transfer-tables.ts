import { CARD_STATUSES } from '../../domain/cards/card.ts';
import type { Account } from '../../domain/ledger/ledger.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import { MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';
import { TRANSFER_TYPES, type TransferTerms } from '../../domain/transfers/transfer.ts';
import { TRANSFER_CHECKS, type TransferCheck } from '../../domain/transfers/transfer-checks.ts';
import type { TransferView } from '../../domain/transfers/transfer-view.ts';
import { ACCOUNTS, card, inDays, terms, view } from './transfer-examples.ts';
import { phaseRows } from './transfer-phases.ts';

/**
 * Writes the table with the postings, holds and counters of each phase of a transfer. The cells come from running the rules on
 * examples.
 */
export function phaseTable(): string {
  return table(
    ['Type', 'Phase', 'Postings', 'Hold', 'Counted', 'Status afterwards'],
    TRANSFER_TYPES.flatMap(phaseRows),
  );
}

/** Writes the table with the checks of a transfer in their order, each with the codes that the examples produce. */
export function checkTable(): string {
  return table(
    ['', 'Check', 'Code when it fails', 'A scheduled transfer'],
    TRANSFER_CHECKS.map((check, at) => [
      String(at + 1),
      check.name.replaceAll('_', ' '),
      codesOf(check),
      heldTo(check),
    ]),
  );
}

function heldTo({ onlyWhenMade, whenDue }: TransferCheck): string {
  if (onlyWhenMade === true) return 'when created';
  return whenDue === true ? 'when due' : 'when created and when due';
}

const DISABLED = {
  programId: null,
  transferType: null,
  connectorId: null,
  disabled: true,
  reason: null,
  actor: 'operator',
  since: 0,
  until: null,
} as const;

const POOR: readonly Account[] = ACCOUNTS.map((one) => ({ ...one, balance: 0n }));
const FULL: readonly Account[] = ACCOUNTS.map((one) => ({ ...one, balance: MAXIMUM_BALANCE }));

const BOTH_WAYS = (limits: Limits['in']): Limits => ({ in: limits, out: limits, maximumBalance: null });

const LIMITED: readonly Limits[] = [
  BOTH_WAYS({ minimum_amount: 101n }),
  BOTH_WAYS({ maximum_amount: 99n }),
  BOTH_WAYS({ daily_amount: 99n }),
];

/** Views with a problem. Together they make every check fail. */
const TROUBLES: readonly (readonly [TransferTerms, TransferView])[] = TRANSFER_TYPES.flatMap((type) => {
  const plain = terms(type, { currency: 'EUR', reference: 'invoice 1' });
  const wrong = [
    view({ switches: [DISABLED] }),
    view({ card: undefined }),
    view({ destinationCard: undefined }),
    ...CARD_STATUSES.map((status) => view({ card: card('card', { status }) })),
    ...CARD_STATUSES.map((status) => view({ destinationCard: card('destination card', { status }) })),
    view({ destinationCard: card('destination card', { currency: 'EUR' }) }),
    view({ card: card('card', { connectorId: 'increase' }) }),
    view({ referenceTakenBy: 'tr_1' }),
    view({ card: card('card', { connectorId: 'bank' }) }),
    ...LIMITED.map((limits) => view({ card: card('card', { limits }) })),
    view({}, POOR),
    view({}, FULL),
  ];
  return [[terms(type, { scheduledFor: inDays(-1) }), view()] as const, ...wrong.map((seen) => [plain, seen] as const)];
});

function codesOf({ name, examine }: TransferCheck): string {
  const found = new Set<string>();
  for (const [asked, seen] of TROUBLES) {
    const finding = examine(asked, seen);
    if (finding.outcome === 'failed') found.add(finding.refusal.code);
  }
  if (found.size === 0) throw new Error(`no example makes the check ${name} fail; add one to the troubles`);
  return [...found].map((code) => `\`${code}\``).join(', ');
}

export function inCell(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}

/** Writes a table. The cells are already Markdown. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}
