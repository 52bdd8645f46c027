import type { FundingLowRecord } from '../../../contract/events/programs.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { type Account, available } from '../../../domain/ledger/ledger.ts';
import { fallsBelowThreshold, toWire } from '../../../domain/ledger/money.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { findEvent, type StoredEvent } from '../../store/events/read-events.ts';
import type { Webhook } from '../../store/webhooks/webhook.ts';
import type { Service } from '../call.ts';
import { toOperationFailure } from '../read-rows.ts';

export const EVENT_VERSION = 'v0.1';

/** An event to write. A thin event has a null payload and no `data`. */
export type WrittenEvent = Omit<StoredEvent, 'payload'> & { readonly payload: string | null };

/**
 * Writes an event as JSON text. `data` is the JSON text that was stored with the event. Parsing and writing it again could change
 * it, and every reader of the event must get the same bytes.
 */
export function writeEvent(event: WrittenEvent): string {
  return `{${fieldsOf(event)}}`;
}

/** Writes an event with its `number`, for operators. An event for every program has no program and no position. */
export function writeOperatorEvent(event: WrittenEvent): string {
  if (event.isShared) return `{${fieldsOf({ ...event, programId: null, position: null })},"number":null}`;
  return `{${fieldsOf(event)},"number":${event.number}}`;
}

type ShownEvent = Omit<WrittenEvent, 'position'> & { readonly position: number | null };

function fieldsOf({ eventId, type, position, programId, subjectId, createdAt, payload }: ShownEvent): string {
  const fields = {
    event_id: toWireId('evt', eventId),
    type,
    position,
    program_id: programId === null ? null : toWireId('prog', programId),
    subject_id: subjectId,
    created_at: createdAt.toISOString(),
    version: EVENT_VERSION,
  };
  const text = JSON.stringify(fields).slice(1, -1);
  return payload === null ? text : `${text},"data":${payload}`;
}

export function writeMessage(id: number, type: string, data: string): string {
  // Line breaks can only be white space between the parts of the JSON text, and readers join the lines again.
  return `id: ${id}\nevent: ${type}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
}

/** Loads the event with a wire id: of one card program or, if none is given, of any. Throws `event_not_found`. */
export async function loadEvent({ database }: Service, sentId: string, programId?: string): Promise<StoredEvent> {
  const eventId = fromWireId('evt', sentId);
  const event =
    eventId === undefined
      ? undefined
      : await findEvent(database, eventId, programId).catch((error) => Promise.reject(toOperationFailure(error)));
  if (event !== undefined) return event;
  const hint = eventId === undefined ? ' An event id is evt_ and 32 hex digits.' : '';
  const where = programId === undefined ? '' : ' in this card program';
  throw new Refusal('event_not_found', `There is no event with the id '${sentId}'${where}.${hint}`);
}

/** Returns the event's JSON for its card program or for operators. A thin event has no `data`. */
export function writeBody(event: StoredEvent, payload: Webhook['payload'], isForOperators: boolean): string {
  const written = payload === 'full' ? event : { ...event, payload: null };
  return isForOperators ? writeOperatorEvent(written) : writeEvent(written);
}

/** A program's low funding in minor units, and the cause. Ids are as on the wire. */
export type LowFunding = {
  /** Inner UUID. */
  readonly programId: string;
  readonly currency: string;
  readonly available: bigint;
  readonly threshold: bigint;
  readonly transferId?: string;
  readonly movementId?: string;
};

/** Returns the event funding.low. It must be in the transaction of its cause, after the event of the cause. */
export function fundingLowEvent({ programId, currency, available, threshold, ...cause }: LowFunding): DomainEvent {
  const record: FundingLowRecord = {
    program_id: toWireId('prog', programId),
    currency,
    available: toWire(available),
    threshold: toWire(threshold),
    transfer_id: cause.transferId ?? null,
    movement_id: cause.movementId ?? null,
  };
  return { type: 'funding.low', programId, subjectId: record.program_id, payload: JSON.stringify(record) };
}

/** Returns the event funding.low if a program's funding has fallen below the threshold. `cause` is as on the wire. */
export function lowFunding(
  before: Account,
  after: Account,
  threshold: bigint | null,
  cause: Pick<LowFunding, 'transferId' | 'movementId'>,
): readonly DomainEvent[] {
  if (threshold === null || !fallsBelowThreshold(available(before), available(after), threshold)) return [];
  const { programId, currency } = after;
  return [fundingLowEvent({ programId, currency, available: available(after), threshold, ...cause })];
}
