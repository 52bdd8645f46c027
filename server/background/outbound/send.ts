// The only file of the service that connects to other hosts. For that reason, it also contains the protection against requests to
// forbidden addresses. That protection is needed because the creator of a webhook chooses the URL, the name in it, and the
// addresses of the name.
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import {
  Agent,
  type ClientRequest,
  type ClientRequestArgs,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { connect as connectTcp, isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { type AddressRules, addressesInHost, hostOf, portOf } from '../../foundation/networks.ts';
import {
  aborted,
  addressRefused,
  codeOf,
  connectFailed,
  connectionLost,
  nameNotFound,
  notAnswered,
  notConnected,
  SendFailure,
  toFailure,
  urlRefused,
} from './send-failure.ts';
import {
  type Outgoing,
  type ReadBody,
  readBody,
  SEND_LIMITS,
  type Sender,
  type SenderSettings,
  type SendLimits,
  withoutFraming,
} from './sender.ts';

// Invariant: Only `server/background/outbound/send.ts` can open a connection to another host. The exception is the OpenTelemetry
//   SDK in `server/observe/traces/`, for the configured collector
// Kept by: the rules of imports and `tools/lint/network.grit`
// Tested by: `test/rules`

/** As many connections as one webhook may use at the same time. */
const MAX_IDLE_CONNECTIONS_PER_HOST = 100;

/** Far more than servers need. A larger header may be an attempt to use up the memory. */
const MAX_HEADER_BYTES = 16_384;

/** After this timeout, the query is sent again, to the same name server or a different one. */
const NAME_SERVER_TIMEOUT_MILLISECONDS = 1_000;
const NAME_SERVER_TRIES = 3;

/** Opens a sender of requests to other hosts. Only tests change the limits. */
export function openSender(settings: SenderSettings, limits: SendLimits = SEND_LIMITS): Sender {
  const connector = new Connector(settings, limits);
  const agents = {
    http: new OutboundAgent('http:', connector, limits),
    https: new OutboundAgent('https:', connector, limits),
  };
  let isClosed = false;
  return {
    async send(outgoing) {
      const startedAt = performance.now();
      const elapsed = () => Math.round(performance.now() - startedAt);
      const progress = { mayHaveLeft: false };
      try {
        const problem = settings.rules.findUrlProblem(outgoing.url);
        if (problem !== undefined) throw urlRefused(problem);
        const agent = new URL(outgoing.url).protocol === 'https:' ? agents.https : agents.http;
        const reply = await sendFresh(agent, outgoing, limits, startedAt + limits.answerTimeoutMilliseconds, progress);
        return { milliseconds: elapsed(), ...reply, error: null };
      } catch (error) {
        const { kind, message, address } = isClosed ? aborted() : toFailure(error);
        return { milliseconds: elapsed(), address, error: kind, message, ...progress };
      }
    },
    close() {
      isClosed = true;
      connector.close();
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

type Reply = ReadBody & {
  readonly status: number;
  readonly address: string | null;
  readonly retryAfter: string | null;
  readonly contentType: string | null;
  readonly date: string | null;
};

/** The progress of a request across all of its connections. */
type Progress = { mayHaveLeft: boolean };

/**
 * Sends a request. If it used an idle connection that the other side had just closed, sends it again. The loop ends because each
 * stale connection is used only once, and new connections are not stale.
 */
async function sendFresh(
  agent: OutboundAgent,
  outgoing: Outgoing,
  limits: SendLimits,
  endsAt: number,
  progress: Progress,
): Promise<Reply> {
  for (;;) {
    try {
      return await sendOnce(agent, outgoing, limits, endsAt, progress);
    } catch (error) {
      if (!(error instanceof SendFailure && error.isStale)) throw error;
    }
  }
}

function sendOnce(
  agent: OutboundAgent,
  outgoing: Outgoing,
  limits: SendLimits,
  endsAt: number,
  progress: Progress,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { signal } = outgoing;
    if (signal?.aborted) return reject(aborted());
    let address: string | null = null;
    let isAnswered = false;
    const request = httpRequest(toOptions(agent, outgoing));
    /**
     * Rejects immediately, because a request that is still waiting for its connection emits no error when it is
     * destroyed.
     */
    const stop = (failure: SendFailure): void => {
      end();
      reject(failure);
      request.destroy();
    };
    const onAbort = (): void => stop(aborted());
    const timer = setTimeout(
      () => stop(notAnswered(limits.answerTimeoutMilliseconds, address)),
      endsAt - performance.now(),
    );
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const answer = async (response: IncomingMessage): Promise<void> => {
      isAnswered = true;
      const { statusCode: status = 0, headers } = response;
      const body = await readBody(response, limits.maxReadBytes, limits.maxKeptBytes);
      end();
      const { 'retry-after': retryAfter = null, 'content-type': contentType = null, date = null } = headers;
      resolve({ status, address, retryAfter, contentType, date, ...body });
    };
    const onError = (error: unknown): void => {
      const isStale = request.reusedSocket && !isAnswered && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
      stop(connectionLost(error, address, isStale));
    };
    request.on('error', onError);
    signal?.addEventListener('abort', onAbort);
    request.on('socket', (socket) => {
      address = socket.remoteAddress ?? null;
      if (outgoing.isWanted?.() === false) onAbort();
      // Node writes the request right after this event. If the request was destroyed, the event does not occur.
      else progress.mayHaveLeft = true;
    });
    request.on('information', () => {
      isAnswered = true;
    });
    request.on('response', (response) => void answer(response).catch(onError));
    // After status 101, the bytes that follow are not an HTTP response.
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      void answer(response).catch(onError);
    });
    request.end(outgoing.body);
  });
}

function toOptions(agent: OutboundAgent, { method, url: text, headers, body }: Outgoing): RequestOptions {
  const url = new URL(text);
  return {
    agent,
    method,
    protocol: url.protocol,
    host: hostOf(url),
    port: portOf(url),
    path: `${url.pathname}${url.search}`,
    headers: {
      ...withoutFraming(headers),
      host: url.host,
      ...(method === 'POST' && { 'content-length': Buffer.byteLength(body) }),
    },
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
  };
}

/** The connections for one protocol. It ignores the environment's proxy settings. */
class OutboundAgent extends Agent {
  readonly protocol: string;
  readonly #connector: Connector;
  readonly #openedAt = new WeakMap<Duplex, number>();
  readonly #idle = new Set<Duplex>();
  readonly #limits: SendLimits;

  constructor(protocol: string, connector: Connector, limits: SendLimits) {
    super({
      keepAlive: limits.maxIdleConnections > 0,
      maxFreeSockets: MAX_IDLE_CONNECTIONS_PER_HOST,
      timeout: limits.maxIdleMilliseconds,
    });
    this.protocol = protocol;
    this.#connector = connector;
    this.#limits = limits;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    done: (error: Error | null, socket: Duplex) => void = () => undefined,
  ): undefined {
    this.#connector.connect({ protocol: this.protocol, host: String(host), port: Number(port) }).then(
      (socket) => {
        this.#openedAt.set(socket, performance.now());
        socket.once('close', () => this.#idle.delete(socket));
        done(null, socket);
      },
      // The agent ignores the socket if there is an error.
      (error: Error) => done(error, new Socket()),
    );
  }

  override keepSocketAlive(socket: Socket): boolean {
    const age = performance.now() - (this.#openedAt.get(socket) ?? 0);
    const left = Math.floor(this.#limits.maxConnectionMilliseconds - age);
    // Node returns false if the server has announced that it will close the connection too soon.
    const isKept: unknown = super.keepSocketAlive(socket);
    if (left <= 0 || isKept === false || this.#idle.size >= this.#limits.maxIdleConnections) return false;
    this.#idle.add(socket);
    // The timeout closes an idle connection.
    if (socket.timeout === undefined || socket.timeout > left) socket.setTimeout(left);
    return true;
  }

  override reuseSocket(socket: Socket, request: ClientRequest): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }
}

type Target = { readonly protocol: string; readonly host: string; readonly port: number };

/** Opens connections, but only to allowed addresses. */
class Connector {
  readonly #rules: AddressRules;
  readonly #limits: SendLimits;
  readonly #ca: string | null;
  #trusted: SecureContext | undefined;
  #isClosed = false;
  readonly #findInHostsFile: (name: string) => Promise<readonly string[]>;
  readonly #pending = new Set<AbortController>();
  #resolver: Resolver | undefined;
  #resolverMadeAt = 0;

  constructor({ rules, ca }: SenderSettings, limits: SendLimits) {
    this.#rules = rules;
    this.#limits = limits;
    this.#ca = ca;
    this.#findInHostsFile = openHostsFile(limits.hostsFile);
  }

  async connect(target: Target): Promise<Socket> {
    if (this.#isClosed) throw aborted();
    const stopping = new AbortController();
    const { connectTimeoutMilliseconds } = this.#limits;
    const timer = setTimeout(
      () => stopping.abort(notConnected(connectTimeoutMilliseconds)),
      connectTimeoutMilliseconds,
    );
    this.#pending.add(stopping);
    try {
      const addresses = await untilAborted(this.#addressesOf(target.host), stopping.signal);
      if (!addresses.every((address) => this.#isAllowed(address, target))) throw addressRefused();
      return await this.#open(target, addresses, stopping.signal);
    } finally {
      clearTimeout(timer);
      this.#pending.delete(stopping);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#resolver?.cancel();
    for (const stopping of this.#pending) stopping.abort(aborted());
  }

  /** Connects to one of the addresses without another look-up. All of them were checked. */
  async #open(target: Target, addresses: readonly string[], signal: AbortSignal): Promise<Socket> {
    const { host, port, protocol } = target;
    const socket = connectTcp({
      host,
      port,
      noDelay: true,
      // Not called if the host is an address.
      lookup: (_name, _options, done) =>
        done(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        ),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: Math.ceil(this.#limits.connectTimeoutMilliseconds / addresses.length),
    });
    socket.on('error', () => undefined);
    let opened = socket;
    let address = addresses.length === 1 ? (addresses[0] ?? null) : null;
    let phase: 'connect' | 'tls' = 'connect';
    try {
      await once(socket, 'connect', { signal });
      address = socket.remoteAddress ?? null;
      // Checked before anything is written, because the connection may have gone to a different address.
      if (address === null || !this.#isAllowed(address, target)) throw addressRefused();
      if (protocol !== 'https:') return socket;
      phase = 'tls';
      opened = connectTls({
        socket,
        host,
        servername: isIP(host) === 0 ? host : '',
        secureContext: this.#trust(),
        ALPNProtocols: ['http/1.1'],
        // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
        rejectUnauthorized: true,
      });
      opened.on('error', () => undefined);
      await once(opened, 'secureConnect', { signal });
      return opened;
    } catch (error) {
      opened.destroy();
      socket.destroy();
      throw connectFailed(signal.aborted ? signal.reason : error, phase, address);
    }
  }

  /** Created when it is first needed, because creating it takes about 20 ms. */
  #trust(): SecureContext {
    const added = this.#ca === null ? [] : [this.#ca];
    this.#trusted ??= createSecureContext({ ca: [...getCACertificates('default'), ...added] });
    return this.#trusted;
  }

  #isAllowed(address: string, { protocol, port }: Target): boolean {
    return this.#rules.isAllowed(address, { protocol, port });
  }

  /**
   * Opens a resolver. Unlike dns.lookup, it does not block a thread. dns.lookup waits in one of the four threads that the process
   * also uses for files. So four names whose servers do not respond would block everything else. A resolver reads the system's name
   * servers only once, so it is replaced from time to time.
   */
  #openResolver(): Resolver {
    const { nameServers, maxResolverMilliseconds } = this.#limits;
    const now = performance.now();
    if (this.#resolver !== undefined && now - this.#resolverMadeAt < maxResolverMilliseconds) return this.#resolver;
    this.#resolver = new Resolver({ timeout: NAME_SERVER_TIMEOUT_MILLISECONDS, tries: NAME_SERVER_TRIES });
    this.#resolverMadeAt = now;
    if (nameServers !== null) this.#resolver.setServers(nameServers);
    return this.#resolver;
  }

  async #addressesOf(host: string): Promise<readonly string[]> {
    const known = addressesInHost(host) ?? (await this.#findInHostsFile(host));
    if (known.length > 0) return known;
    const resolver = this.#openResolver();
    const lookUps = [resolver.resolve4(host), resolver.resolve6(host)];
    const results = await settledSoon(lookUps, this.#limits.otherFamilyMilliseconds);
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (found.length > 0) return found;
    const [code = 'ENOTFOUND'] = results.flatMap((result) =>
      result.status === 'rejected' ? codeOf(result.reason) : [],
    );
    throw nameNotFound(code);
  }
}

/**
 * How long the content of the hosts file is used. It is short, so that changes take effect soon, but long enough that a burst of
 * new connections reads the file once.
 */
const HOSTS_FILE_KEPT_MILLISECONDS = 5_000;

/**
 * Opens the hosts file, because Node's resolver does not read it. The returned function finds the addresses of a name in the file.
 * If the file cannot be read, it counts as empty.
 */
function openHostsFile(path: string): (name: string) => Promise<readonly string[]> {
  let reading: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let readAt = 0;
  return async (name) => {
    const now = performance.now();
    if (reading === undefined || now - readAt > HOSTS_FILE_KEPT_MILLISECONDS) {
      readAt = now;
      reading = readFile(path, 'utf8').then(parseHosts, () => new Map());
    }
    return (await reading).get(name.toLowerCase()) ?? [];
  };
}

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names.map((each) => each.toLowerCase())) hosts.set(name, [...(hosts.get(name) ?? []), address]);
  }
  return hosts;
}

/** Returns the results of look-ups, in order. When one has succeeded, the others have only `milliseconds` left. */
function settledSoon<Result>(
  lookUps: readonly Promise<Result>[],
  milliseconds: number,
): Promise<readonly PromiseSettledResult<Result>[]> {
  return new Promise((resolve) => {
    const results: PromiseSettledResult<Result>[] = [];
    // The filter removes the holes that unsettled look-ups leave.
    const end = (): void => resolve(results.filter(() => true));
    let timer: NodeJS.Timeout | undefined;
    const note = (index: number, result: PromiseSettledResult<Result>): void => {
      results[index] = result;
      if (result.status === 'fulfilled') timer ??= setTimeout(end, milliseconds).unref();
    };
    const settled = lookUps.map((lookUp, index) =>
      lookUp.then(
        (value) => note(index, { status: 'fulfilled', value }),
        (reason: unknown) => note(index, { status: 'rejected', reason }),
      ),
    );
    void Promise.all(settled).then(() => {
      clearTimeout(timer);
      end();
    });
  });
}

/** Waits for work that cannot be aborted. The wait ends when a signal aborts. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
