/** The types of events. They are never renamed, only added. */
export const EVENT_TYPES = [
  'transfer.scheduled',
  'transfer.pending',
  'transfer.unknown',
  'transfer.completed',
  'transfer.canceled',
  'transfer.expired',
  'transfer.failed',
  'transfer.late_approval',
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
  'break.opened',
  'settlement.matched',
  'day.closed',
  'switch.changed',
  'key.created',
  'key.rolled',
  'key.revoked',
  'approval.requested',
  'approval.approved',
  'approval.rejected',
  'approval.withdrawn',
  'approval.expired',
  'approval.failed',
  'error.recorded',
  'webhook.tested',
  'webhook.failing',
  'webhook.disabled',
  'case.opened',
  'case.replied',
  'case.resolved',
  'incident.opened',
  'incident.updated',
  'incident.resolved',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** The event types, and the groups: all types of a subject, such as `transfer.*`. */
export const TYPES_AND_GROUPS: readonly string[] = [
  ...EVENT_TYPES,
  ...new Set(EVENT_TYPES.map((type) => `${type.split('.', 1)[0]}.*`)),
];

/** Whether a string is one of {@link TYPES_AND_GROUPS}. */
export function isTypeOrGroup(text: string): boolean {
  return TYPES_AND_GROUPS.includes(text);
}

/** The `programId` of an event for every program that exists at the time of the event. */
export const EVERY_PROGRAM = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The program id under which the positions of the service's own events are stored. They belong to no program. */
export const SERVICE_ITSELF = '00000000-0000-0000-0000-000000000000';

/**
 * A fact, written in the same transaction as the change that it reports. `subjectId` is the wire id of the changed record.
 * `payload` is that record at the time, as JSON text.
 */
export type DomainEvent = {
  readonly type: EventType;
  /** Inner UUID of the program, {@link EVERY_PROGRAM}, or null for the service's own events, which only operators see. */
  readonly programId: string | null;
  readonly subjectId: string;
  readonly payload: string;
  /**
   * Inner UUID of the request that caused it. Omitted if the payload is the transfer that the request created, since the transfer
   * names the request. Nearly every event is of this kind, and events are the largest part of the data that a transfer writes.
   */
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
};
