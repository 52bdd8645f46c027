import { expect, test } from 'vitest';
import type { Card } from '../cards/card.ts';
import type { Account } from '../ledger/ledger.ts';
import { forEachPeriod, NOTHING_USED } from '../ledger/limits.ts';
import { Refusal } from '../refusal.ts';
import type { SwitchSetting } from '../switch.ts';
import { decideCancel, decideExecution, decideExpiry, type TransferWithHold } from './change-transfer.ts';
import { decideTransfer, type TransferPlan } from './create-transfer.ts';
import type { TransferTerms } from './transfer.ts';
import type { TransferView } from './transfer-view.ts';

// The jobs select only due transfers and holds. These tests act too early, too late and in a disabled scope, as a faulty job would.

const CREATED = Date.parse('2026-01-31T09:00:00.000Z');
const MINUTE = 60_000;

const CARD: Card = {
  ...{ programId: 'program', cardId: 'card', accountId: 'card', fundingAccountId: 'funding', name: 'ann' },
  ...{ status: 'active', currency: 'USD', expiresOn: null, limits: null, connectorId: null },
};

const DISABLED: SwitchSetting = {
  ...{ programId: null, transferType: null, connectorId: null, disabled: true, until: null },
  ...{ reason: 'maintenance', actor: 'operator', since: CREATED },
};

function accountOf(accountId: string): Account {
  const kind = accountId === 'card' ? 'card' : 'funding';
  const sums = { balance: 100n, held: 10n, incoming: 10n, floor: 0n, sequence: 1n };
  return { programId: 'program', accountId, kind, currency: 'USD', ...sums };
}

function viewAt(now: number, switches: readonly SwitchSetting[] = []): TransferView {
  const calendar = forEachPeriod(() => ({ start: CREATED, end: CREATED + 24 * 60 * MINUTE }));
  const rules = {
    programId: 'program',
    currency: 'USD',
    today: '2026-01-31',
    limits: null,
    cardLimits: null,
    calendar,
  };
  return {
    ...{ programId: 'program', now, rules, switches, card: CARD, destinationCard: undefined, account: accountOf },
    ...{ usage: () => NOTHING_USED, connectorState: () => 'missing', referenceTakenBy: undefined },
  };
}

function created(changed: Partial<TransferTerms>): TransferWithHold {
  const ids = { programId: 'program', transferId: 'transfer', requestId: 'request', idempotencyKey: null };
  const terms: TransferTerms = {
    ...{ type: 'load', amount: 10n, cardName: 'ann', destinationCardName: null, currency: null, reference: null },
    ...{ capture: 'automatic', expiresAt: null, scheduledFor: null, ...changed },
  };
  const plan = decideTransfer(
    { creation: { ...ids, createdBy: null, now: CREATED }, terms, notes: {} },
    viewAt(CREATED),
  );
  if (plan instanceof Refusal) throw plan;
  return { transfer: plan.transfer, hold: plan.hold ?? undefined };
}

function resultOf(plan: TransferPlan | Refusal): string {
  return plan instanceof Refusal ? plan.code : plan.transfer.status;
}

test('a hold expires at its expires_at and not before, and only while it is pending', () => {
  const end = CREATED + MINUTE;
  const hold = created({ capture: 'manual', expiresAt: end });
  expect(resultOf(decideExpiry(hold, viewAt(end - 1)))).toBe('invalid_transfer_status');
  expect(resultOf(decideExpiry(hold, viewAt(end)))).toBe('expired');
  const canceled = decideCancel(hold, viewAt(CREATED));
  if (canceled instanceof Refusal) throw canceled;
  const gone = { transfer: canceled.transfer, hold: undefined };
  expect(resultOf(decideExpiry(gone, viewAt(end)))).toBe('invalid_transfer_status');
});

test.each([
  ['waits until it is due', MINUTE - 1, [], 'invalid_transfer_status'],
  ['is held when it is due', MINUTE, [], 'pending'],
  ['waits while the service is disabled', MINUTE, [DISABLED], 'service_disabled'],
  ['expires if its hold would already have expired', 2 * MINUTE, [], 'expired'],
  ['expires even while the service is disabled', 2 * MINUTE, [DISABLED], 'expired'],
] as const)('a scheduled hold %s', (_, later, switches, result) => {
  const times = { scheduledFor: CREATED + MINUTE, expiresAt: CREATED + 2 * MINUTE };
  const { transfer } = created({ capture: 'manual', ...times });
  expect(resultOf(decideExecution(transfer, viewAt(CREATED + later, switches)))).toBe(result);
});

test('a transfer that was already executed or canceled is not executed', () => {
  const { transfer } = created({ scheduledFor: CREATED + MINUTE });
  const made = decideExecution(transfer, viewAt(CREATED + MINUTE));
  const canceled = decideCancel({ transfer, hold: undefined }, viewAt(CREATED));
  expect([resultOf(made), resultOf(canceled)]).toEqual(['completed', 'canceled']);
  for (const plan of [made, canceled]) {
    if (plan instanceof Refusal) throw plan;
    expect(resultOf(decideExecution(plan.transfer, viewAt(CREATED + MINUTE)))).toBe('invalid_transfer_status');
  }
});
