/** How long a sender of requests to other hosts waits, and how much it reads and keeps. */
export type SendLimits = {
  /** For looking up the name, connecting and the TLS handshake together. */
  readonly connectTimeoutMilliseconds: number;
  /**
   * For the look-up of the other address family, IPv4 or IPv6, once there are addresses of one: some name servers never answer
   * queries about IPv6.
   */
  readonly otherFamilyMilliseconds: number;
  /** From the call to the last byte of the answer. */
  readonly answerTimeoutMilliseconds: number;
  /** An answer is only read up to this size; the connection of one that is as long or longer is closed. */
  readonly maxReadBytes: number;
  /** Of an answer so much is given to the caller. */
  readonly maxKeptBytes: number;
  /** A connection is used no longer than this, so that a change of the name's addresses takes effect. */
  readonly maxConnectionMilliseconds: number;
  readonly maxIdleMilliseconds: number;
  /**
   * Over all hosts, for each of HTTP and HTTPS: the process needs file descriptors for its own callers. With 0 each request
   * has a new connection, and is never sent again: a connection that was idle may have been closed by the other side.
   */
  readonly maxIdleConnections: number;
  /** Name servers, or null for those of the system. */
  readonly nameServers: readonly string[] | null;
  /** How long the name servers of the system are used before they are read again. */
  readonly maxResolverMilliseconds: number;
  readonly hostsFile: string;
};

export const SEND_LIMITS: SendLimits = {
  connectTimeoutMilliseconds: 5_000,
  // As long as the timeout after which a query is sent again.
  otherFamilyMilliseconds: 1_000,
  answerTimeoutMilliseconds: 15_000,
  maxReadBytes: 16_384,
  maxKeptBytes: 1_024,
  maxConnectionMilliseconds: 300_000,
  // Long enough for steady traffic. A server may close an idle connection sooner.
  maxIdleMilliseconds: 30_000,
  maxIdleConnections: 1_000,
  nameServers: null,
  maxResolverMilliseconds: 60_000,
  hostsFile: '/etc/hosts',
};
