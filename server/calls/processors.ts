import type { TransferRecord } from '../../contract/transfers.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { ConnectorState } from '../../domain/transfers/transfer-view.ts';
import { databaseTime } from '../foundation/database-clock.ts';
import { verifyNotice } from '../foundation/signature.ts';

export type ConnectorStatus = {
  readonly connectorId: string;
  readonly state: ConnectorState;
  /** When the state began, in milliseconds since 1970. Null if unknown. */
  readonly since: number | null;
  /** The reason why the connector is down. Null if it is not. */
  readonly reason: string | null;
  /** The number of calls to the connector that this process has not finished. */
  readonly inFlight: number;
};

/** Returns whether the signature of a notice is valid. The names of the headers are in lower case, and the body is as received. */
export type VerifyNotice = (
  connectorId: string,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Buffer,
) => boolean;

/**
 * Returns a function that verifies notices with the secrets of their connectors, which have the form `whsec_…`. An unknown
 * connector has none. The age of a notice is measured with the database's clock: if this machine's clock were wrong, every notice
 * would be refused.
 */
export function noticeVerifier(secretsOf: (connectorId: string) => readonly string[]): VerifyNotice {
  return (connectorId, headers, body) => 'id' in verifyNotice(headers, body, secretsOf(connectorId), databaseTime());
}

/** The processors that hold the money of cards, in the form that handlers and the lane need. */
export type Processors = {
  /** The connectors in the settings, and `simulator` in a sandbox. */
  readonly connectorIds: readonly string[];
  /** Whether a card program (inner UUID) may have cards of a connector. */
  readonly admits: (connectorId: string, programId: string) => boolean;
  /** Returns whether a connector accepts new transfers. Reads from memory. Never throws. */
  readonly stateOf: (connectorId: string) => ConnectorState;
  readonly statuses: () => readonly ConnectorStatus[];
  readonly verifyNotice: VerifyNotice;
  /** Notifies the jobs of new attempts or notices. */
  readonly wake: () => void;
  /** Called with each transfer that begins to wait for a processor, and again with the processor's answer. */
  readonly noteTransfer: (record: TransferRecord) => void;
  /** Resolves when this process has changed the transfer, after `milliseconds`, or when `signal` aborts. Never rejects. */
  readonly whenChanged: (transferId: string, milliseconds: number, signal?: AbortSignal) => Promise<void>;
};

/** Requests of this process that wait for a transfer to change. They hold no database connection. */
export class TransferWaiters {
  readonly #waiters = new Map<string, Set<() => void>>();

  get waiting(): number {
    let count = 0;
    for (const { size } of this.#waiters.values()) count += size;
    return count;
  }

  note({ transfer_id: transferId }: Pick<TransferRecord, 'transfer_id'>): void {
    for (const wake of [...(this.#waiters.get(transferId) ?? [])]) wake();
  }

  wait(transferId: string, milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true || milliseconds <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(transferId) ?? new Set();
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        waiters.delete(end);
        if (waiters.size === 0 && this.#waiters.get(transferId) === waiters) this.#waiters.delete(transferId);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal?.addEventListener('abort', end);
      waiters.add(end);
      this.#waiters.set(transferId, waiters);
    });
  }
}

/** Throws `connector_not_found` if the service's settings do not name the connector. */
export function requireConnector({ connectorIds }: Pick<Processors, 'connectorIds'>, connectorId: string): void {
  if (connectorIds.includes(connectorId)) return;
  const message = `This service has no connector '${connectorId}'. Its operator names connectors in the setting CONNECTORS.`;
  throw new Refusal('connector_not_found', message, { field: '/connector_id' });
}

/** Throws `connector_not_found` if the settings do not name the connector, or name it only for other card programs. */
export function requireConnectorOf(processors: Processors, connectorId: string, programId: string): void {
  requireConnector(processors, connectorId);
  if (processors.admits(connectorId, programId)) return;
  const message =
    `The connector '${connectorId}' is not for this card program. ` +
    "The operator of the service names its card programs in 'program_ids', in the file of CONNECTORS.";
  throw new Refusal('connector_not_found', message, { field: '/connector_id' });
}

export const NO_PROCESSORS: Processors = {
  connectorIds: [],
  admits: () => false,
  stateOf: () => 'missing',
  statuses: () => [],
  verifyNotice: () => false,
  wake: () => undefined,
  noteTransfer: () => undefined,
  // No transfer waits for a processor, so only the time or the signal can end the wait.
  whenChanged: (transferId, milliseconds, signal) => new TransferWaiters().wait(transferId, milliseconds, signal),
};
