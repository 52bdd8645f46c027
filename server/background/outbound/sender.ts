import type { AddressRules } from '../../foundation/networks.ts';
import type { ReadBody } from './exchange.ts';
import type { SendError } from './send-failure.ts';

export type SenderSettings = {
  readonly rules: AddressRules;
  /** Certificates in PEM that are trusted besides those of Node, or null: WEBHOOK_CA. */
  readonly ca: string | null;
};

/** A request to send. The sender adds Host, Content-Length and Connection. */
export type Outgoing = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  readonly body: string;
  readonly signal?: AbortSignal;
  /** Called right before the request is written, which may be long after the call of `send`; false aborts it. */
  readonly isWanted?: () => boolean;
};

/** The result of a request: an answer, whatever its status, or why there is none. */
export type Answer = { readonly milliseconds: number; readonly address: string | null } & (
  | ({ readonly status: number; readonly retryAfter: string | null; readonly error: null } & ReadBody)
  | {
      readonly error: SendError;
      readonly message: string;
      /** Whether a byte of the request may have left: false only if none was written to a connection. */
      readonly mayHaveLeft: boolean;
    }
);

export type Sender = {
  /** Sends a request and waits for the end of its answer. Follows no redirect and never rejects. */
  send(outgoing: Outgoing): Promise<Answer>;
  /** Ends all connections; what is being sent is aborted. */
  close(): void;
};
