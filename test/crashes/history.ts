/** What a request to create contains; amounts in minor units. */
export type Terms = {
  readonly type: 'load' | 'unload' | 'card_to_card';
  readonly amount: number;
  readonly cardId: string;
  readonly destinationCardId: string | null;
  readonly capture: 'automatic' | 'manual';
};

/** What was to be done with a transfer that was there; the amount of a cancellation is none. */
export type Change = {
  readonly verb: 'capture' | 'cancel' | 'reverse';
  readonly transferId: string;
  readonly amount: number;
};

/** One whole response to one request. */
export type ReceivedResponse = {
  readonly requestId: string;
  readonly status: number;
  readonly text: string;
  /** As the header says; undefined when there is none. */
  readonly moneyMoved: string | undefined;
  /** As the header says; undefined when there is none. */
  readonly shouldRetry: string | undefined;
  readonly transferId: string | undefined;
  readonly replayed: boolean;
};

/** Everything that was sent and heard under one idempotency key. */
export type KeyHistory = {
  readonly key: string;
  readonly responses: readonly ReceivedResponse[];
  /** Requests that may have arrived and were never answered. */
  readonly silences: number;
};

/** A transfer that was to be made. */
export type CreateHistory = KeyHistory & { readonly terms: Terms };

/** Something that was to be done with a transfer. */
export type ChangeHistory = KeyHistory & { readonly change: Change };

/** A reversal as it is found in the ledger. */
export type FoundReversal = {
  readonly reversalId: string;
  readonly requestId: string;
  /** The idempotency key, which every request also carries as description. */
  readonly key: string;
  readonly amount: number;
};

/** A transfer as it is found in the ledger. */
export type Found = {
  readonly transferId: string;
  /** The request that made it. */
  readonly requestId: string;
  /** The idempotency key, which every request also carries as metadata. */
  readonly key: string;
  readonly terms: Terms;
  readonly status: string;
  readonly capturedAmount: number;
  readonly reversals: readonly FoundReversal[];
  /** Its record as the service shows it, to the letter; undefined where nobody asked. */
  readonly text?: string | undefined;
};
