// The notation of a history: the requests of clients with their keys and times, and the responses. Amounts are in minor units.
// Times are from `performance.now()`.

/** The terms of a transfer that a request creates. */
export type Creation = {
  readonly does: 'create';
  readonly type: 'load' | 'unload' | 'card_to_card';
  readonly amount: number;
  readonly card: string;
  readonly destination: string | null;
  readonly capture: 'automatic' | 'manual';
  readonly reference: string | null;
  /** When the hold expires, in ISO 8601. Null means the default time. */
  readonly expiresAt: string | null;
};

/** A change to a transfer. The amount of a cancellation is 0. */
export type Change = {
  readonly does: 'capture' | 'cancel' | 'reverse';
  readonly transferId: string;
  readonly amount: number;
};

/** A complete response. The text of a header is undefined if the response lacks the header. */
export type Response = {
  readonly requestId: string;
  readonly status: number;
  readonly text: string;
  readonly moneyMoved: string | undefined;
  readonly shouldRetry: string | undefined;
  readonly transferId: string | undefined;
  readonly replayed: boolean;
  readonly at: number;
};

/** All requests with one idempotency key. They are equal, and a client repeats them until it has a final response. */
export type Operation<Asked = Creation | Change> = {
  readonly key: string;
  /** The wire id of the program. */
  readonly programId: string;
  readonly asked: Asked;
  /** When the first request with the key was sent. */
  readonly sentAt: number;
  readonly responses: readonly Response[];
  /** The number of requests that may have arrived but got no response. */
  readonly unanswered: number;
};

/** A change of a card, a program, its funding or the switch: one request without a key to repeat it. */
export type AdministrativeChange = {
  readonly what: string;
  readonly sentAt: number;
  readonly gotAt: number;
  readonly status: number;
  readonly text: string;
};

export function isCreation(operation: Operation): operation is Operation<Creation> {
  return operation.asked.does === 'create';
}

export function isChange(operation: Operation): operation is Operation<Change> {
  return operation.asked.does !== 'create';
}

/** Whether a response acknowledges the request. */
export function isDone({ status }: Pick<Response, 'status'>): boolean {
  return status === 200 || status === 201;
}

/** Whether the service stores a response under its key. Stored responses never change. */
export function isKept(response: Pick<Response, 'status'>): boolean {
  return isDone(response) || response.status === 409;
}

/** Whether a request of an operation may have succeeded although no response says so. */
export function isInDoubt({ responses, unanswered }: Operation): boolean {
  return unanswered > 0 || responses.some(({ moneyMoved }) => moneyMoved === 'unknown');
}

/** Returns the responses to all operations. */
export function responsesOf(operations: readonly Operation[]): readonly Response[] {
  return operations.flatMap(({ responses }) => responses);
}
