import { CARD_STATUSES } from '../../domain/cards/card.ts';
import type { ErrorCode } from '../../domain/error-codes.ts';
import type { Account } from '../../domain/ledger/ledger.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import { MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';
import {
  isFinal,
  TRANSFER_MOVES,
  TRANSFER_STATUSES,
  TRANSFER_TYPES,
  type TransferMove,
  type TransferTerms,
} from '../../domain/transfers/transfer.ts';
import { TRANSFER_CHECKS, type TransferCheck, type TransferView } from '../../domain/transfers/transfer-checks.ts';
import { inCell, page, table } from './markdown.ts';
import { ACCOUNTS, card, inDays, terms, view } from './transfer-examples.ts';
import { phaseRows } from './transfer-phases.ts';

/** docs/reference/transfers.md: how a transfer moves on, what it posts and holds, what stops it, and in which order. */
export function transferReference(): string {
  return page(
    '# Transfers',
    'This page is made by running the rules of the service on examples. [docs/transfers.md](../transfers.md) is the ' +
      'guide.',
    states(),
    books(),
    checks(),
  );
}

function states(): readonly string[] {
  return [
    '## States of a transfer',
    '![The states of a transfer and the commands that lead from one to the next](transfer-states.svg)',
    table(['From', 'Command', 'To', 'When'], TRANSFER_MOVES.map(moveRow)),
    `What is not in this table does not happen: it is refused with \`invalid_transfer_status\`. Final are ` +
      `${TRANSFER_STATUSES.filter(isFinal)
        .map((status) => `\`${status}\``)
        .join(', ')}. \`execute\` and \`expire\` come with time, all other commands from a caller.`,
  ];
}

function moveRow({ from, command, to, when }: TransferMove): readonly string[] {
  return [from === null ? '' : `\`${from}\``, `\`${command}\``, `\`${to}\``, inCell(when)];
}

function books(): readonly string[] {
  return [
    '## What each phase posts and holds',
    'A posting moves one amount from a source account to a destination account, so the books balance by construction. ' +
      'A hold keeps an amount at its source (`held`) for its destination (`incoming`) without moving it. What a ' +
      'transfer is counted for towards limits is counted at each card it names and, between funding and a card, for ' +
      'the card program, too.',
    table(['Type', 'Phase', 'Postings', 'Hold', 'Counted', 'State afterwards'], TRANSFER_TYPES.flatMap(phaseRows)),
  ];
}

function checks(): readonly string[] {
  return [
    '## The order of the checks',
    'The first check that fails is the answer. Before them come the faults of the request itself, its credentials, its ' +
      'form and its amount, and the idempotency key; [api.md](api.md) has the whole order of codes. A transfer that is ' +
      'scheduled is held to some checks when it is made, to some when it is due, and to most both times.',
    table(
      ['', 'Check', 'Code when it fails', 'A scheduled transfer'],
      TRANSFER_CHECKS.map((check, at) => [
        String(at + 1),
        inCell(check.name.replaceAll('_', ' ')),
        codesOf(check),
        heldTo(check),
      ]),
    ),
  ];
}

function heldTo({ onlyWhenMade, whenDue }: TransferCheck): string {
  if (onlyWhenMade === true) return 'when made';
  return whenDue === true ? 'when due' : 'when made, and when due';
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

const BOTH_WAYS = (limits: Limits['in']): Limits => ({ in: limits, out: limits, maximumBalance: null });

const LIMITED: readonly Limits[] = [
  BOTH_WAYS({ minimum_amount: 101n }),
  BOTH_WAYS({ maximum_amount: 99n }),
  BOTH_WAYS({ daily_amount: 99n }),
];

/** Views in which something is wrong; between them every check has something to find. */
const TROUBLES: readonly (readonly [TransferTerms, TransferView])[] = TRANSFER_TYPES.flatMap((type) => {
  const plain = terms(type, { currency: 'EUR', reference: 'invoice 1' });
  const wrong = [
    view({ switches: [DISABLED] }),
    view({ card: undefined }),
    view({ destinationCard: undefined }),
    ...CARD_STATUSES.map((status) => view({ card: card('card', { status }) })),
    ...CARD_STATUSES.map((status) => view({ destinationCard: card('destination card', { status }) })),
    view({ destinationCard: card('destination card', { currency: 'EUR' }) }),
    view({ referenceTakenBy: 'tr_1' }),
    ...LIMITED.map((limits) => view({ card: card('card', { limits }) })),
    view({}, POOR),
    view({}, FULL),
  ];
  return [[terms(type, { scheduledFor: inDays(-1) }), view()] as const, ...wrong.map((seen) => [plain, seen] as const)];
});

function codesOf({ name, examine }: TransferCheck): string {
  const found = new Set<ErrorCode>();
  for (const [asked, seen] of TROUBLES) {
    const finding = examine(asked, seen);
    if (finding.outcome === 'failed') found.add(finding.refusal.code);
  }
  if (found.size === 0) throw new Error(`no example makes the check ${name} fail; add one to the troubles`);
  return [...found].map((code) => `\`${code}\``).join(', ');
}
