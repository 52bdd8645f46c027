/** What happened, as the events of the service name it. Names are never renamed, only added. */
export const EVENT_TYPES = [
  'transfer.scheduled',
  'transfer.pending',
  'transfer.completed',
  'transfer.canceled',
  'transfer.expired',
  'transfer.failed',
  'transfer.updated',
  'reversal.completed',
  'card.created',
  'card.updated',
  'card.erased',
  'program.created',
  'program.updated',
  'funding.deposited',
  'funding.withdrawn',
  'funding.low',
  'switch.changed',
  'key.created',
  'key.rolled',
  'key.revoked',
  'error.recorded',
  'webhook.tested',
  'webhook.failing',
  'webhook.disabled',
] as const;

/** One of {@link EVENT_TYPES}. */
export type EventType = (typeof EVENT_TYPES)[number];

/** Whether a text is a type, or a group: all types of a subject, such as `transfer.*`. */
export function isTypeOrGroup(text: string): boolean {
  return EVENT_TYPES.some((type) => text === type || text === `${type.split('.', 1)[0]}.*`);
}

/** The id of a program of events that are for every program, one that is created later excepted. */
export const EVERY_PROGRAM = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The id under which positions of the events of no program are stored: those of the service itself. */
export const SERVICE_ITSELF = '00000000-0000-0000-0000-000000000000';

/**
 * A fact that was written in the same transaction as what it tells of. `subjectId` is the id on the wire of what
 * changed; `payload` is its record as it was then, as JSON text.
 */
export type DomainEvent = {
  readonly type: EventType;
  /** Inner UUID of the program, {@link EVERY_PROGRAM}, or null for what only operators see: events of the service itself. */
  readonly programId: string | null;
  readonly subjectId: string;
  readonly payload: string;
  /**
   * Inner UUID of the request that caused it. Left out where the payload is the transfer that the request created, which
   * names the request: nearly every event is one of these, and they are the largest part of what a transfer writes.
   */
  readonly requestId?: string | undefined;
  /** The trace of the request that caused it, where the caller sent one. */
  readonly traceparent?: string | undefined;
};
