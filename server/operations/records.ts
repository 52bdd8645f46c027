import type { CardRecord } from '../../contract/cards.ts';
import type { ErrorRecord } from '../../contract/errors/record.ts';
import type { KeyRecord, NewKeyRecord } from '../../contract/keys.ts';
import type { FundingMovementRecord, ProgramRecord } from '../../contract/programs.ts';
import { inOrder } from '../../contract/scope.ts';
import type { SwitchRecord } from '../../contract/switch.ts';
import type { ReversalRecord } from '../../contract/transfer-actions.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { cardStatusOn } from '../../domain/cards/card.ts';
import { toWireId } from '../../domain/identifier.ts';
import { available } from '../../domain/ledger/ledger.ts';
import { toWire } from '../../domain/ledger/money.ts';
import { type SwitchSetting, scopeOf } from '../../domain/switch.ts';
import type { Reversal } from '../../domain/transfers/reverse-transfer.ts';
import type { Transfer } from '../../domain/transfers/transfer.ts';
import type { CardDetails } from '../store/card.ts';
import type { ApiKey } from '../store/key.ts';
import type { FundingMovement } from '../store/ledger/funding.ts';
import { fromLimits } from '../store/ledger/limits.ts';
import type { Program } from '../store/program.ts';

/** A transfer as the contract shows it. */
export function toTransferRecord(transfer: Transfer): TransferRecord {
  return {
    transfer_id: toWireId('tr', transfer.transferId),
    program_id: toWireId('prog', transfer.programId),
    card_id: transfer.cardName,
    destination_card_id: transfer.destinationCardName,
    type: transfer.type,
    amount: toWire(transfer.amount),
    captured_amount: toWire(transfer.capturedAmount),
    reversed_amount: toWire(transfer.reversedAmount),
    currency: transfer.currency,
    status: transfer.status,
    outcome: transfer.outcome,
    capture: transfer.capture,
    expires_at: toMoment(transfer.expiresAt),
    scheduled_for: toMoment(transfer.scheduledFor),
    description: transfer.description,
    reference: transfer.reference,
    metadata: { ...transfer.metadata },
    error: toErrorRecord(transfer.error),
    created_at: new Date(transfer.createdAt).toISOString(),
    updated_at: new Date(transfer.updatedAt).toISOString(),
    completed_at: toMoment(transfer.completedAt),
  };
}

/** The error of a failed transfer with its fields in their order, which `jsonb` does not keep (specification, 2.1). */
function toErrorRecord(error: object | null): ErrorRecord | null {
  if (error === null) return null;
  const { Message, Status, Code, Type } = error as ErrorRecord;
  return { Message, Status, Code, Type };
}

/** A reversal as the contract shows it. */
export function toReversalRecord(reversal: Reversal): ReversalRecord {
  return {
    reversal_id: toWireId('rev', reversal.reversalId),
    transfer_id: toWireId('tr', reversal.transferId),
    program_id: toWireId('prog', reversal.programId),
    amount: toWire(reversal.amount),
    currency: reversal.currency,
    status: 'completed',
    description: reversal.description,
    created_at: new Date(reversal.createdAt).toISOString(),
  };
}

/** A card as the contract shows it, in the state that it has today. */
export function toCardRecord(details: CardDetails): CardRecord {
  const { card, account } = details;
  return {
    card_id: card.name,
    program_id: toWireId('prog', card.programId),
    status: cardStatusOn(card, details.today),
    currency: card.currency,
    balance: toWire(account.balance),
    held: toWire(account.held),
    available: toWire(available(account)),
    incoming: toWire(account.incoming),
    holder_reference: details.holderReference,
    last_four: details.lastFour,
    expires_on: card.expiresOn,
    limits: fromLimits(card.limits),
    created_at: details.createdAt.toISOString(),
    updated_at: details.updatedAt.toISOString(),
  };
}

/** A card program as the contract shows it. */
export function toProgramRecord(program: Program): ProgramRecord {
  return {
    program_id: toWireId('prog', program.programId),
    name: program.name,
    currency: program.currency,
    time_zone: program.timeZone,
    funding: program.funding.map(({ currency, balance, held }) => ({
      currency,
      balance: toWire(balance),
      available: toWire(balance - held),
    })),
    limits: fromLimits(program.limits),
    card_limits: fromLimits(program.cardLimits),
    created_at: program.createdAt.toISOString(),
  };
}

/** A deposit or withdrawal as the contract shows it; `balance` is what the funding account has after it. */
export function toFundingMovementRecord(
  movement: FundingMovement,
  balance: bigint,
  now: number,
): FundingMovementRecord {
  return {
    movement_id: toWireId(movement.kind === 'deposit' ? 'dep' : 'wd', movement.movementId),
    program_id: toWireId('prog', movement.programId),
    kind: movement.kind,
    amount: toWire(movement.amount),
    currency: movement.currency,
    balance: toWire(balance),
    description: movement.description,
    created_at: new Date(now).toISOString(),
  };
}

/** A setting of the switch as the contract shows it; one whose end has passed is not disabled any more. */
export function toSwitchRecord(setting: SwitchSetting, now: number): SwitchRecord {
  return {
    scope: scopeOf(setting),
    program_id: setting.programId === null ? null : toWireId('prog', setting.programId),
    type: setting.transferType,
    disabled: setting.disabled && (setting.until === null || setting.until > now),
    reason: setting.reason,
    actor: setting.actor,
    since: new Date(setting.since).toISOString(),
    until: toMoment(setting.until),
  };
}

/** A key as the contract shows it, without its secret. */
export function toKeyRecord(key: ApiKey): KeyRecord {
  return {
    key_id: toWireId('key', key.keyId),
    name: key.name,
    program_id: key.programId === null ? null : toWireId('prog', key.programId),
    scopes: inOrder(key.scopes),
    shown_as: `ts_${key.publicPart}_…`,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    replaced_by: key.replacedBy === null ? null : toWireId('key', key.replacedBy),
  };
}

/** What is said of a secret that cannot be shown again. */
const KEY_OMITTED =
  'The secret is in the first response only and is not stored. If that response was lost, roll this key with a new ' +
  'Idempotency-Key to get a new secret, or revoke it.';

/** A new key as the contract shows it: with its secret once, and without (`secret` null) when the response is replayed. */
export function toNewKeyRecord(key: ApiKey, secret: string | null): NewKeyRecord {
  return { ...toKeyRecord(key), key: secret, key_omitted: secret === null ? KEY_OMITTED : null };
}

function toMoment(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
