import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../../domain/processors/order.ts';
import type { ConnectorState } from '../../../domain/transfers/transfer-view.ts';
import { type Processors, TransferWaiters, type VerifyNotice } from '../../calls/processors.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  closeBreaker,
  type OpenBreaker,
  openBreaker,
  READ_OPEN_BREAKERS,
  takeProbes,
  toOpenBreaker,
} from '../../store/processors/connector-state.ts';
import type { TransferService } from '../../subjects/transfers/lane.ts';
import { type OnFailure, type RunningJob, startRounds } from '../jobs/rounds.ts';
import { type Carrier, type NoteCall, startCarryingOut } from './carry-out.ts';
import { startHandlingNotices } from './handle-notices.ts';
import type { Connector } from './http-connector.ts';
import type { ReportParts } from './report.ts';

/** How often this process checks for breakers that other processes have opened or closed. */
const INTERVAL_MILLISECONDS = 1_000;

/** How often a connector with an open breaker is asked whether it works. */
const PROBE_SECONDS = 15;

/** How long a stop waits for calls in flight, and then for the results of the calls that it ended to be recorded. */
const STOP_MILLISECONDS = { calls: 3_000, records: 2_000 };

export type ProcessorParts = {
  readonly database: Database;
  readonly connectors: readonly Connector[];
  /** Verifies the signature of a notice. If omitted, no notice is accepted. */
  readonly verifyNotice?: VerifyNotice | undefined;
  /** Whether a card program may have cards of a connector. If omitted, every program may. */
  readonly admits?: Processors['admits'] | undefined;
  /**
   * Connectors that deliberately leave some requests unanswered, such as the simulator. Unanswered requests do not open their
   * breakers.
   */
  readonly obedient?: ReadonlySet<string>;
  /**
   * Starts further jobs for the connectors. The simulation in verification/environments/memory starts none, because it
   * does not cover settlement files.
   */
  readonly jobs?: readonly ((connectors: ReadonlyMap<string, Connector>, parts: ReportParts) => RunningJob)[];
  readonly onFailure: OnFailure;
  readonly onCall?: NoteCall | undefined;
  readonly onOpened?: ((connectorId: string, reason: string) => void) | undefined;
};

export type RunningProcessors = Processors & {
  readonly start: (transfers: Pick<TransferService['transfers'], 'submit'>) => void;
  /**
   * Stops sending new orders, waits a moment for calls in flight, and then ends those that remain. Other processes claim the
   * remaining attempts when their leases expire.
   */
  readonly stop: () => Promise<void>;
};

/** Starts the jobs for the processors of cards. Without connectors, it sends no statement. */
export function openProcessors(parts: ProcessorParts): RunningProcessors {
  const { connectors, database } = parts;
  const byId = new Map(connectors.map((connector) => [connector.connectorId, connector]));
  const waiters = new TransferWaiters();
  const breakers = new Breakers(parts);
  const carriers = new Map<string, Carrier>();
  let others: readonly RunningJob[] = [];
  let isStopped = false;
  const wake = (): void => {
    for (const job of [...carriers.values(), ...others]) job.wake();
  };
  const stateOf = (connectorId: string): ConnectorState => {
    const connector = byId.get(connectorId);
    if (connector === undefined) return 'missing';
    return connector.traits.whenDown === 'refuse' && breakers.find(connectorId) !== undefined ? 'down' : 'up';
  };
  return {
    connectorIds: [...byId.keys()],
    stateOf,
    statuses: () =>
      [...byId.keys()].map((connectorId) => {
        const open = breakers.find(connectorId);
        const inFlight = carriers.get(connectorId)?.inFlight ?? 0;
        const about = { connectorId, since: open?.openedAt ?? null, reason: open?.reason ?? null, inFlight };
        return { ...about, state: open === undefined ? 'up' : 'down' };
      }),
    admits: parts.admits ?? (() => true),
    verifyNotice: parts.verifyNotice ?? (() => false),
    wake,
    noteTransfer: (record) => {
      waiters.note(record);
      if (record.status === 'pending') for (const carrier of carriers.values()) carrier.wake();
    },
    whenChanged: (...of) => waiters.wait(...of),
    start: (transfers) => {
      if (connectors.length === 0) return;
      const report = { database, transfers, onFailure: parts.onFailure };
      const isOpen = (connectorId: string): boolean => breakers.find(connectorId) !== undefined;
      const onCall: NoteCall = (call) => {
        // If this process ended the call itself, the result says nothing about the connector.
        if (!isStopped) breakers.note(call);
        parts.onCall?.(call);
      };
      for (const connector of connectors) {
        carriers.set(connector.connectorId, startCarryingOut(connector, { ...report, isOpen, onCall }));
      }
      const further = (parts.jobs ?? []).map((begin) => begin(byId, report));
      others = [startHandlingNotices(byId, report), breakers.start(), ...further];
    },
    stop: async () => {
      await Promise.all([...carriers.values(), ...others].map((job) => job.stop()));
      const idle = Promise.all([...carriers.values()].map((carrier) => carrier.whenIdle()));
      const within = (milliseconds: number) => Promise.race([idle, sleep(milliseconds, undefined, { ref: false })]);
      await within(STOP_MILLISECONDS.calls);
      isStopped = true;
      for (const connector of connectors) connector.close();
      await within(STOP_MILLISECONDS.records);
    },
  };
}

/** The breakers of all connectors, shared by all processes. While a breaker is open, no new orders are sent to its connector. */
class Breakers {
  readonly #parts: ProcessorParts;
  readonly #seen = new Map<string, Breaker>();
  #open: ReadonlyMap<string, OpenBreaker> = new Map();

  constructor(parts: ProcessorParts) {
    this.#parts = parts;
    for (const { connectorId } of parts.connectors) this.#seen.set(connectorId, new Breaker());
  }

  find(connectorId: string): OpenBreaker | undefined {
    return this.#open.get(connectorId);
  }

  note({ connectorId, answer }: Parameters<NoteCall>[0]): void {
    const { obedient, database, onFailure, onOpened } = this.#parts;
    if (obedient?.has(connectorId) === true) return;
    const reason = this.#seen.get(connectorId)?.note(answer, performance.now());
    if (reason === undefined || this.#open.has(connectorId)) return;
    this.#open = new Map([...this.#open, [connectorId, { connectorId, openedAt: databaseTime(), reason }]]);
    onOpened?.(connectorId, reason);
    database.writeUnguarded(openBreaker(connectorId, reason, PROBE_SECONDS)).catch(onFailure);
  }

  start(): RunningJob {
    const { connectors, onFailure } = this.#parts;
    return startRounds({
      firstPauseMilliseconds: 0,
      retryMilliseconds: INTERVAL_MILLISECONDS,
      onFailure,
      run: async () => {
        await this.#read();
        const probed = connectors.filter(({ connectorId }) => this.#open.has(connectorId));
        if (probed.length > 0) await this.#takeProbes(probed);
        return INTERVAL_MILLISECONDS;
      },
    });
  }

  async #read(): Promise<void> {
    const before = this.#open;
    const rows = await this.#parts.database.read(READ_OPEN_BREAKERS);
    const open = new Map(rows.map(toOpenBreaker).map((breaker) => [breaker.connectorId, breaker]));
    for (const connectorId of before.keys()) if (!open.has(connectorId)) this.#seen.get(connectorId)?.reset();
    this.#open = open;
  }

  /**
   * Asks connectors whether they work, if this process has claimed their probes. Other processes see the result. The round does
   * not wait for the answers: an answer may take as long as any call, and other breakers open and close in the meantime.
   */
  async #takeProbes(connectors: readonly Connector[]): Promise<void> {
    const { database, onFailure } = this.#parts;
    const ids = connectors.map(({ connectorId }) => connectorId);
    const taken = new Set(
      (await database.writeUnguarded(takeProbes(ids, PROBE_SECONDS))).map((row) => row.connector_id),
    );
    for (const connector of connectors) {
      if (taken.has(connector.connectorId)) void this.#probe(connector).catch(onFailure);
    }
  }

  async #probe(connector: Connector): Promise<void> {
    if (!(await connector.isHealthy())) return;
    await this.#parts.database.writeUnguarded(closeBreaker(connector.connectorId));
    await this.#read();
  }
}

/** The period over which calls are counted. */
const WINDOW_MILLISECONDS = 30_000;

/** The breaker opens after this many calls in a row without a valid answer. */
const IN_A_ROW = 5;

/**
 * The breaker also opens if at least half of the calls in the window had no valid answer, but only if there were at least this
 * many calls.
 */
const ENOUGH = 10;

/**
 * Counts this process's calls to a connector, and decides when so many of them had no valid answer that sending must
 * stop. Times are values of `performance.now()`.
 */
export class Breaker {
  #inARow = 0;
  #answers: { readonly at: number; readonly isBad: boolean }[] = [];

  note({ outcome }: Pick<Answer, 'outcome'>, now: number): string | undefined {
    const isBad = outcome === 'unknown' || outcome === 'not_sent';
    this.#inARow = isBad ? this.#inARow + 1 : 0;
    this.#answers = this.#answers.filter(({ at }) => now - at < WINDOW_MILLISECONDS);
    this.#answers.push({ at: now, isBad });
    if (this.#inARow >= IN_A_ROW) return `The last ${this.#inARow} requests had no valid answer.`;
    const bad = this.#answers.filter((answer) => answer.isBad).length;
    const all = this.#answers.length;
    if (all < ENOUGH || 2 * bad < all) return undefined;
    return `${bad} of the last ${all} requests had no valid answer.`;
  }

  /** Resets the counts after the connector has answered that it works. */
  reset(): void {
    this.#inARow = 0;
    this.#answers = [];
  }
}
