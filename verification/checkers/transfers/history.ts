/** The terms of a request to create a transfer. Amounts are in minor units. */
export type Terms = {
  readonly type: 'load' | 'unload' | 'card_to_card';
  readonly amount: number;
  readonly cardId: string;
  readonly destinationCardId: string | null;
  readonly capture: 'automatic' | 'manual';
};

/** A request to change a transfer. The amount of a cancellation is 0. */
export type Change = {
  readonly verb: 'capture' | 'cancel' | 'reverse';
  readonly transferId: string;
  readonly amount: number;
};

/** A complete response to a request. */
export type ReceivedResponse = {
  readonly requestId: string;
  readonly status: number;
  readonly text: string;
  /** The header's value; undefined if there is none. */
  readonly moneyMoved: string | undefined;
  /** The header's value; undefined if there is none. */
  readonly shouldRetry: string | undefined;
  readonly transferId: string | undefined;
  readonly replayed: boolean;
};

/** All requests and responses of one idempotency key. */
export type KeyHistory = {
  readonly key: string;
  readonly responses: readonly ReceivedResponse[];
  /** The number of requests that may have arrived but got no response. */
  readonly silences: number;
};

/** The requests for a new transfer. */
export type CreateHistory = KeyHistory & { readonly terms: Terms };

/** The requests for a change to a transfer. */
export type ChangeHistory = KeyHistory & { readonly change: Change };

export type FoundReversal = {
  readonly reversalId: string;
  readonly requestId: string;
  /** The idempotency key, which every request also has as its description. */
  readonly key: string;
  readonly amount: number;
};

/** A transfer in the ledger. */
export type Found = {
  readonly transferId: string;
  readonly requestId: string;
  /** The idempotency key, which every request also has in its metadata. */
  readonly key: string;
  readonly terms: Terms;
  readonly status: string;
  readonly capturedAmount: number;
  readonly reversals: readonly FoundReversal[];
  /** The exact record that the service shows; undefined if it was not read. */
  readonly text?: string | undefined;
};
