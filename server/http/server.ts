import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../domain/refusal.ts';
import type { Gateway } from '../operations/call.ts';
import { Connections } from './admission/connection.ts';
import { AdmissionQueue, EventLoopLag } from './admission/overload.ts';
import { RateLimits } from './admission/rate-limits.ts';
import { abandonOverdue, countLateRequests, countUnreadResponses } from './admission/timeouts.ts';
import { drain } from './drain.ts';
import type { AccessEntry, ErrorReport } from './error-report.ts';
import { type AddressServer, type Begin, createAddressServer, isMissingAddress, listenOn } from './listening.ts';
import { RequestContext } from './request-context.ts';
import { RouteTable } from './route-table.ts';
import { createRoutes } from './routes.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { DEFAULT_SETTINGS, type HttpSettings } from './settings.ts';
import { composeErrorResponse, reportError } from './wire/error-response.ts';
import { substituteFor } from './wire/node-errors.ts';
import { ErrorRecordResponse } from './wire/record-response.ts';
import { sendError } from './wire/reply.ts';
import { readHead, readTarget } from './wire/request-head.ts';

export type { AccessEntry, ErrorReport } from './error-report.ts';
export type { HttpSettings } from './settings.ts';

/** What the HTTP server is told besides the gateway. */
export type HttpOptions = {
  /** Told of every answer that is an error. */
  readonly onError?: (report: ErrorReport) => void;
  /** Told of every answer. */
  readonly log?: (entry: AccessEntry) => void;
  /** Limits and times that differ from {@link DEFAULT_SETTINGS}. */
  readonly settings?: Partial<HttpSettings>;
  /** Version of the service, shown at `/`. */
  readonly version?: string;
  /** Mounts further routes, such as pages, under the same nets. */
  readonly extend?: (app: FastifyInstance) => void;
};

/** Where to listen: on each of `hosts`, or on `host`, with one port. An IPv6 address that is missing is no error. */
export type ListenOptions = { readonly port: number; readonly host?: string; readonly hosts?: readonly string[] };

/** The service on the network. */
export type HttpServer = {
  /** Rejects with Node's own error, such as EADDRINUSE, when a port is taken. */
  readonly listen: (options: ListenOptions) => Promise<void>;
  /** The first address that is listened on; undefined before. */
  readonly address: AddressInfo | undefined;
  readonly addresses: readonly AddressInfo[];
  /** Finishes what is in flight, withTimeout bounds, and closes. */
  readonly close: () => Promise<void>;
};

/** How often requests are looked for that have waited too long; an answer in their stead is that much later. */
const TIMEOUT_CHECK_MILLISECONDS = 100;

/** Builds the HTTP server over the operations. It listens when told to. */
export function createHttpServer(gateway: Gateway, options: HttpOptions = {}): HttpServer {
  const lag = new EventLoopLag();
  const service = createService(gateway, options, lag);
  const app = createRoutes(service, options.extend);
  const servers: AddressServer[] = [];
  const addresses: AddressInfo[] = [];
  const begin: Begin = (request, response, awaitsContinue) => {
    try {
      beginInTurn(service, app, request, response, awaitsContinue);
    } catch {
      // Nothing thrown here may end the process; the response turns its status into the record.
      response.statusCode = 500;
      response.end();
    }
  };
  let closing: Promise<void> | undefined;
  let overdue: NodeJS.Timeout | undefined;

  const listen = async (where: ListenOptions): Promise<void> => {
    await app.ready();
    let { port } = where;
    try {
      for (const host of where.hosts ?? [where.host ?? '127.0.0.1']) {
        const server = createAddressServer(service, responseOf(service), begin);
        try {
          const address = await listenOn(server, host, port);
          servers.push(server);
          addresses.push(address);
          port = address.port;
        } catch (error) {
          if (servers.length === 0 || !isMissingAddress(error)) throw error;
        }
      }
    } catch (error) {
      for (const server of servers.splice(0)) server.close();
      addresses.length = 0;
      throw error;
    }
    if (service.settings.maxLagMilliseconds > 0) lag.start();
    overdue = startTimeoutCheck(service);
  };

  const closeOnce = async (): Promise<void> => {
    service.isClosing = true;
    lag.stop();
    await drain(service, servers);
    clearInterval(overdue);
    await app.close();
  };

  return {
    listen,
    addresses,
    get address() {
      return addresses[0];
    },
    close: () => {
      closing ??= closeOnce();
      return closing;
    },
  };
}

/** A check that comes later than this was kept from running, as by a process that was stopped. */
const LATE_CHECK_MILLISECONDS = 1_000;

/**
 * Looks for what takes too long. After a pause of the process it looks only once more: the response of the database may
 * have arrived meanwhile, and sockets are read after timers.
 */
function startTimeoutCheck(service: HttpService): NodeJS.Timeout {
  let lastAt = performance.now();
  return setInterval(() => {
    const wasPaused = performance.now() - lastAt > TIMEOUT_CHECK_MILLISECONDS + LATE_CHECK_MILLISECONDS;
    lastAt = performance.now();
    if (!wasPaused) checkTimeouts(service);
  }, TIMEOUT_CHECK_MILLISECONDS).unref();
}

function checkTimeouts(service: HttpService): void {
  const { active, settings } = service;
  service.unreadResponses = countUnreadResponses(active);
  abandonOverdue(
    active,
    service.unreadResponses > settings.maxUnreadResponses
      ? settings.crowdedReadTimeoutMilliseconds
      : settings.readTimeoutMilliseconds,
  );
  service.isBehind = countLateRequests(active, settings.lateAfterMilliseconds) > settings.maxLateRequests;
}

function createService(gateway: Gateway, options: HttpOptions, lag: EventLoopLag): HttpService {
  const settings = { ...DEFAULT_SETTINGS, ...options.settings };
  return {
    gateway,
    settings,
    supportContact: gateway.supportContact,
    onError: options.onError,
    log: options.log,
    version: options.version ?? '0.1.0',
    routes: new RouteTable(),
    connections: new Connections(),
    limits: new RateLimits(settings),
    active: new Set(),
    unreadResponses: 0,
    isOverloaded: () => settings.maxLagMilliseconds > 0 && lag.mean() > settings.maxLagMilliseconds,
    admissionQueue: new AdmissionQueue(settings.lateAfterMilliseconds),
    requests: 0,
    isBehind: false,
    isClosing: false,
    isRefusing: false,
  };
}

/** The response class of one server: its last net speaks with the server's own contact, and tells its error log. */
function responseOf(service: HttpService): typeof ErrorRecordResponse {
  return class extends ErrorRecordResponse {
    protected override substitute(status: number) {
      const connection = service.connections.of(this.req.socket);
      const context = this.context ?? (connection && new RequestContext(this.req, this, connection));
      if (context === undefined) return undefined;
      context.answered = true;
      context.operation ??= service.routes.operationOf(this.req.method ?? '', context.path);
      const answer = composeErrorResponse(substituteFor(status), context, service);
      reportError(service, answer.report);
      return answer;
    }

    protected override defaultHeaders(): readonly (readonly [string, string])[] {
      const id: readonly (readonly [string, string])[] = this.context ? [['Request-Id', this.context.wireId]] : [];
      return [...id, ['Cache-Control', 'no-store'], ['X-Content-Type-Options', 'nosniff']];
    }
  };
}

/**
 * Begins a request when those before it on the connection are answered. A pipelined request is not run ahead: if an
 * answer before it closes the connection, it would move money and its own answer would be lost.
 */
function beginInTurn(
  service: HttpService,
  app: FastifyInstance,
  request: IncomingMessage,
  response: ErrorRecordResponse,
  awaitsContinue: boolean,
): void {
  const connection = service.connections.of(request.socket);
  if (connection === undefined || connection.ended) return;
  connection.latest = { request, response };
  const context = new RequestContext(request, response, connection);
  context.awaitsContinue = awaitsContinue;
  if (response.socket === null) response.once('socket', () => admit(service, app, context, response));
  else admit(service, app, context, response);
}

/** Takes a request in, in its turn among all that have come at this moment. */
function admit(
  service: HttpService,
  app: FastifyInstance,
  context: RequestContext,
  response: ErrorRecordResponse,
): void {
  const { active, admissionQueue } = service;
  const { request } = context;
  response.context = context;
  // Whatever it is answered, also when the service has no time for it.
  context.mustClose = hasOldChunks(request);
  active.add(context);
  service.requests += 1;
  response.once('close', () => {
    active.delete(context);
    context.connection.bytesHandled = request.socket.bytesRead;
  });
  const begin = (): void => route(service, app, context, response);
  const refuse = (): void => void sendError(service, context, tooBusy());
  // A service that is asked how it does has not failed because it is busy: it answers late.
  admissionQueue.take(begin, isHealth(context) ? begin : refuse);
}

/** Faults of HTTP itself, in the order of the contract; what passes goes to the router. */
function route(
  service: HttpService,
  app: FastifyInstance,
  context: RequestContext,
  response: ErrorRecordResponse,
): void {
  const { request } = context;
  // The caller has gone while it waited for its turn.
  if (response.closed) return;
  try {
    context.address = service.limits.addressOf(context);
    refuseWhenBusy(service, context);
    if (!isHealth(context)) service.limits.countAddress(context);
    context.head = readHead(request, service.settings.maxHeaders);
    if (hasOldChunks(request)) throw new Refusal('malformed_request', OLD_CHUNKS);
    const { target, authority } = readTarget(context.target);
    context.target = target;
    context.authority = authority;
    request.url = target;
    // Fastify would refuse some media types before the credentials are looked at.
    request.headers['content-type'] = undefined;
    app.routing(request, response);
  } catch (thrown) {
    void sendError(service, context, thrown);
  }
}

const OLD_CHUNKS = 'An HTTP/1.0 request cannot have a Transfer-Encoding. Use HTTP/1.1.';

/** HTTP/1.0 knows no chunks: where such a body ends is anybody's guess, so nothing after it is a request (RFC 9112, 6.1). */
function hasOldChunks({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

function refuseWhenBusy(service: HttpService, context: RequestContext): void {
  if (service.isRefusing) throw closingRefusal();
  if (isHealth(context)) return;
  const isOverloaded = service.isOverloaded() || service.isBehind;
  // Who takes no answer holds nobody else up.
  const waiting = service.active.size - service.unreadResponses;
  if (!isOverloaded && waiting <= service.settings.maxRequestsInFlight) return;
  throw tooBusy();
}

function isHealth({ path }: RequestContext): boolean {
  return path === '/health/live' || path === '/health/ready';
}

function tooBusy(): Refusal {
  const message = 'The service is overloaded and did not start this request.';
  return new Refusal('service_unavailable', message);
}
