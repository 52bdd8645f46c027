import { randomUUID } from 'node:crypto';
import { startSettlingDueTransfers } from '../../../server/background/jobs/frequent-jobs.ts';
import { startRelayingEvents } from '../../../server/background/jobs/relay-events.ts';
import { openProcessors } from '../../../server/background/processors/open-processors.ts';
import type { AnyCall, AnyReply } from '../../../server/calls/call.ts';
import { NO_PROCESSORS, type Processors } from '../../../server/calls/processors.ts';
import type { RequestTrace } from '../../../server/calls/trace.ts';
import type { LaneBounds } from '../../../server/commit/group-commit.ts';
import type { CommitObserver } from '../../../server/commit/group-work.ts';
import type { AnyService } from '../../../server/handlers.ts';
import type { Database } from '../../../server/store/connection/database.ts';
import { receiveNotice } from '../../../server/subjects/processors/processors.ts';
import { type OnCreated, openTransferLane } from '../../../server/subjects/transfers/lane.ts';
import type { WebhookTools } from '../../../server/subjects/webhooks/settings.ts';
import type { Request } from '../../model/commands.ts';
import type { Connection, Server } from '../memory-store/connection.ts';
import { openSimulatedDatabases, type SimulatedDatabases } from '../memory-store/pool.ts';
import { Delivering, type DeliveryWorld, VAULT } from './delivering.ts';
import type { Asker, SentNotice, SimulatedProcessor } from './processor.ts';
import { handle, type Sending } from './requests.ts';
import { CONNECTOR_ID, programOf } from './world.ts';

/** The tools for handlers of webhooks. Any address is allowed, and nothing is encrypted. */
const WEBHOOK_TOOLS: WebhookTools = {
  rules: { findUrlProblem: () => undefined } as unknown as WebhookTools['rules'],
  vault: VAULT,
  requireKeys: async () => undefined,
  changed: () => undefined,
};

/** Small groups, so that many of them follow each other. */
const BOUNDS = { batch: 4, waiting: 64, remembered: { accounts: 2, bytes: 2_000 } };

/** The listeners of a process's lane. They may throw. A committed group stays committed. */
export type LaneListeners = {
  readonly observer: CommitObserver;
  readonly onCreated: OnCreated;
  readonly onCommit: () => void;
  readonly trace: RequestTrace;
};

/** The other work of a process, in addition to requests and the relay. */
export type Jobs = {
  readonly delivery: DeliveryWorld | undefined;
  readonly settles: boolean;
  readonly processor: SimulatedProcessor | undefined;
};

/** A process of the service: the real lane and relay over a simulated database. */
export class ServiceProcess implements Asker {
  readonly name: string;
  readonly databases: SimulatedDatabases;
  readonly #service: Omit<AnyService, 'database'>;
  readonly #trace: RequestTrace | undefined;
  readonly #delivering: Delivering | undefined;
  isAlive = true;

  constructor(
    server: Server,
    name: string,
    listeners: LaneListeners | undefined,
    { delivery, settles, processor }: Jobs,
  ) {
    this.name = name;
    this.databases = openSimulatedDatabases(server, name);
    if (listeners !== undefined) this.databases.onCommit(listeners.onCommit);
    this.#trace = listeners?.trace;
    const onFailure = (): void => undefined;
    const database = this.databases.background;
    const running = processor && openProcessors({ database, connectors: [processor.connect(this)], onFailure });
    this.#service = openService(this.databases.application, BOUNDS, listeners, running);
    running?.start(this.#service.transfers);
    this.#delivering = delivery && new Delivering(delivery, this.databases.background, randomUUID());
    const announce = (): void => this.#delivering?.send();
    startRelayingEvents(this.databases, announce, () => undefined);
    if (settles) {
      const due = { ...this.#service, database: this.databases.background };
      startSettlingDueTransfers(due, () => undefined);
    }
  }

  /** Carries out a request, like a request over HTTP. */
  handle(request: Request, sent: Omit<Sending, 'trace'>): Promise<AnyReply> {
    const sending = { ...sent, trace: this.#trace };
    const database = this.databases.application.forProgram(programOf(request.program).programId);
    return handle({ ...this.#service, database }, request, sending);
  }

  /** Stores a notice of a processor, like a request over HTTP. */
  receive(notice: SentNotice): Promise<unknown> {
    const params = { connector_id: CONNECTOR_ID };
    const call = { operation: 'receive_notice', params, body: notice } as unknown as AnyCall;
    return receiveNotice({ ...this.#service, database: this.databases.background }, call as never);
  }

  /** Kills the process. The server has received some of the messages in flight. */
  die(received: (connection: Connection) => number): void {
    this.isAlive = false;
    if (this.#delivering !== undefined) this.#delivering.isAlive = false;
    this.databases.die(received);
  }
}

/** The dependencies of the handlers of transfers and cards, except the database of a request. */
export function openService(
  databases: Pick<Database, 'forProgram'>,
  bounds: LaneBounds,
  listeners?: LaneListeners,
  processors: Processors = NO_PROCESSORS,
): Omit<AnyService, 'database'> {
  const processorParts = { connectorState: processors.stateOf, onProcessor: processors.noteTransfer };
  const transfers = openTransferLane(databases, { ...listeners, ...processorParts, compactsPayloads: true, bounds });
  return { transfers, processors, webhooks: WEBHOOK_TOOLS, supportContact: '' } as Omit<AnyService, 'database'>;
}
