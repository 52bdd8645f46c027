/** An event, as the service sends it. */
export type TransferServiceEvent = {
  readonly event_id: string;
  readonly type: string;
  /** 1, 2, 3 … within the card program, in the order in which the changes became visible; no number is missing. */
  readonly position: number;
  /** Null for an event of the service itself. */
  readonly program_id: string | null;
  readonly subject_id: string | null;
  readonly created_at: string;
  readonly version: string;
  readonly data: Readonly<Record<string, unknown>>;
};
