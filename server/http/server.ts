import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Refusal } from '../../domain/refusal.ts';
import type { Gateway } from '../calls/call.ts';
import { Connections } from './admission/connection.ts';
import { AdmissionQueue, EventLoopLag } from './admission/overload.ts';
import { RateLimits } from './admission/rate-limits.ts';
import { abandonOverdue, countLateRequests, countUnreadResponses } from './admission/timeouts.ts';
import { Watchers } from './admission/watchers.ts';
import { type AddressServer, type Begin, createAddressServer, drain, isMissingAddress, listenOn } from './listening.ts';
import type { ErrorReport, ResponseEntry } from './reports.ts';
import { RequestContext } from './request-context.ts';
import { noRoute, Router } from './router.ts';
import { mountRoutes } from './routes.ts';
import { type BeginTrace, closingRefusal, type HttpService, ReusedKeys } from './service.ts';
import { type HttpSettings, settingsWith } from './settings.ts';
import { composeErrorResponse, reportError } from './wire/error-response.ts';
import { substituteFor } from './wire/node-errors.ts';
import { noteResponse, noteUnnoted } from './wire/note-response.ts';
import { ErrorRecordResponse } from './wire/record-response.ts';
import { sendError } from './wire/reply.ts';
import { readHead, readTarget } from './wire/request-head.ts';

export type { ErrorReport, ResponseEntry } from './reports.ts';
export type { HttpSettings } from './settings.ts';

export type HttpOptions = {
  readonly onError?: (report: ErrorReport) => void;
  /** Called once for every response, and for every request whose caller disconnected before that. Its exceptions are ignored. */
  readonly onResponse?: ((entry: ResponseEntry) => void) | undefined;
  /** Decides which requests are traced. `onResponse` receives the trace and must end it. */
  readonly beginTrace?: BeginTrace | undefined;
  readonly settings?: Partial<HttpSettings>;
  /** Version of the service, shown at `/`. */
  readonly version?: string;
  /** Mounts further routes. For tests of the error handling. */
  readonly extend?: (router: Router) => void;
};

/** Listens on each of `hosts`, or on `host`, on the same port. Only the first address must exist on this machine. */
export type ListenOptions = { readonly port: number; readonly host?: string; readonly hosts?: readonly string[] };

export type HttpServer = {
  /** Rejects with Node's own error, such as EADDRINUSE if a port is taken. */
  readonly listen: (options: ListenOptions) => Promise<void>;
  /** The first address of the server, or undefined before `listen`. */
  readonly address: AddressInfo | undefined;
  readonly addresses: readonly AddressInfo[];
  /** Finishes requests in flight within `maxDrainMilliseconds`, and closes. */
  readonly close: () => Promise<void>;
};

/** Interval between two checks for timed-out requests. It determines the precision of their timeouts. */
const TIMEOUT_CHECK_MILLISECONDS = 100;

export function createHttpServer(gateway: Gateway, options: HttpOptions = {}): HttpServer {
  const lag = new EventLoopLag();
  const service = createService(gateway, options, lag);
  mountRoutes(service.routes, service);
  options.extend?.(service.routes);
  const servers: AddressServer[] = [];
  const addresses: AddressInfo[] = [];
  const begin: Begin = (request, response, awaitsContinue) => {
    try {
      beginInTurn(service, request, response, awaitsContinue);
    } catch {
      // An error here must not end the process. For this status, the response class writes the error record.
      response.statusCode = 500;
      response.end();
    }
  };
  let closing: Promise<void> | undefined;
  let overdue: NodeJS.Timeout | undefined;

  const listen = async (where: ListenOptions): Promise<void> => {
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
    if (service.settings.overloadDelayMilliseconds > 0) lag.start();
    overdue = startTimeoutCheck(service);
  };

  const closeOnce = async (): Promise<void> => {
    service.isClosing = true;
    service.watchers.endAll();
    lag.stop();
    await drain(service, servers);
    clearInterval(overdue);
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

/** If a check is delayed by more than this, the process was paused. */
const LATE_CHECK_MILLISECONDS = 1_000;

/**
 * Checks for timed-out requests. After a pause of the process, skips the first check. Timers run before sockets are read, so
 * database responses that have already arrived are not visible yet.
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
  const settings = settingsWith(options.settings ?? {});
  return {
    gateway,
    settings,
    supportContact: gateway.supportContact,
    findSupport: gateway.findSupport,
    onError: options.onError,
    onResponse: options.onResponse,
    beginTrace: options.beginTrace,
    version: options.version ?? '0.1.0',
    routes: new Router(),
    connections: new Connections(),
    limits: new RateLimits(settings),
    active: new Set(),
    watchers: new Watchers(settings.watchLimits),
    reusedKeys: new ReusedKeys(),
    unreadResponses: 0,
    isOverloaded: () => settings.overloadDelayMilliseconds > 0 && lag.mean() > settings.overloadDelayMilliseconds,
    admissionQueue: new AdmissionQueue(settings.lateAfterMilliseconds),
    requests: 0,
    isBehind: false,
    isClosing: false,
    isRefusing: false,
  };
}

/** Returns the response class of a server. It replaces error responses that are not a record, and reports them. */
function responseOf(service: HttpService): typeof ErrorRecordResponse {
  return class extends ErrorRecordResponse {
    protected override substitute(status: number) {
      const connection = service.connections.of(this.req.socket);
      const context = this.context ?? (connection && new RequestContext(this.req, this, connection));
      if (context === undefined) return undefined;
      context.responded = true;
      context.operation ??= service.routes.operationOf(this.req.method ?? '', context.path);
      const errorResponse = composeErrorResponse(substituteFor(status), context, service);
      reportError(service, errorResponse.report);
      noteResponse(service, context, errorResponse.status, errorResponse.report);
      return errorResponse;
    }

    protected override defaultHeaders(): readonly (readonly [string, string])[] {
      const id: readonly (readonly [string, string])[] = this.context ? [['Request-Id', this.context.wireId]] : [];
      return [...id, ['Cache-Control', 'no-store'], ['X-Content-Type-Options', 'nosniff']];
    }
  };
}

/**
 * Starts a request after the responses to earlier requests on the connection. A pipelined request must never start earlier: if an
 * earlier response closed the connection, the pipelined request could move money without getting a response.
 */
function beginInTurn(
  service: HttpService,
  request: IncomingMessage,
  response: ErrorRecordResponse,
  awaitsContinue: boolean,
): void {
  const connection = service.connections.of(request.socket);
  if (connection === undefined) return;
  const mustWait = response.socket === null;
  // Requests after the last response count too, because Node keeps them until the connection closes.
  if (mustWait) connection.beginTurnWait();
  if (connection.ended || connection.socket.destroyed) return;
  connection.latest = { request, response };
  const context = new RequestContext(request, response, connection);
  context.awaitsContinue = awaitsContinue;
  if (!mustWait) {
    admit(service, context, response);
    return;
  }
  response.once('socket', () => {
    connection.endTurnWait();
    admit(service, context, response);
  });
}

function admit(service: HttpService, context: RequestContext, response: ErrorRecordResponse): void {
  const { active, admissionQueue } = service;
  const { request } = context;
  response.context = context;
  // Must be set before anything can refuse the request.
  context.mustClose = isChunkedHttp10(request);
  active.add(context);
  service.requests += 1;
  response.on('close', () => {
    active.delete(context);
    context.connection.bytesHandled = request.socket.bytesRead;
    noteUnnoted(service, context);
  });
  const begin = (): void => route(service, context, response);
  const refuse = (): void => void sendError(service, context, tooBusy());
  // A health check is never refused because of load. Under load, its response only takes longer.
  admissionQueue.take(begin, isHealth(context) ? begin : refuse);
}

/**
 * Checks the head of a request in the documented order of precedence. Then passes the request to its operation or to the router.
 */
function route(service: HttpService, context: RequestContext, response: ErrorRecordResponse): void {
  const { request } = context;
  // The caller disconnected while the request was in the queue.
  if (response.closed) return;
  try {
    context.address = service.limits.addressOf(context);
    refuseWhenBusy(service, context);
    if (!isHealth(context)) service.limits.countAddress(context);
    context.head = readHead(request, service.settings.maxHeaders);
    if (isChunkedHttp10(request)) throw new Refusal('malformed_request', CHUNKED_HTTP_10);
    const { target, authority } = readTarget(context.target);
    context.target = target;
    context.authority = authority;
    const found = service.routes.find(request.method ?? '', target);
    if (found === undefined) throw noRoute(service.routes, context);
    context.pattern = found.route.pattern;
    found.route.serve(context, found.parameters);
  } catch (thrown) {
    void sendError(service, context, thrown);
  }
}

const CHUNKED_HTTP_10 = 'An HTTP/1.0 request cannot have a Transfer-Encoding. Use HTTP/1.1.';

/** HTTP/1.0 has no chunked encoding. The end of a chunked body is ambiguous there, so the connection must close (RFC 9112, 6.1). */
function isChunkedHttp10({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

function refuseWhenBusy(service: HttpService, context: RequestContext): void {
  if (service.isRefusing) throw closingRefusal();
  if (isHealth(context)) return;
  const isOverloaded = service.isOverloaded() || service.isBehind;
  // A request uses no capacity while it waits for events, or while its response is written but not read.
  const waiting = service.active.size - service.unreadResponses - service.watchers.size;
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
