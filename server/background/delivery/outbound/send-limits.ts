/** How long a sender of requests to other hosts waits, and how much it reads and keeps. */
export type SendLimits = {
  /** For looking up the name, connecting and TLS together. */
  readonly connectTimeoutMilliseconds: number;
  /**
   * For the look-up of the other kind of addresses, IPv4 or IPv6, once there are addresses of one kind: some name servers never
   * answer questions about IPv6.
   */
  readonly otherFamilyMilliseconds: number;
  /** From the call to the last byte of the answer. */
  readonly answerTimeoutMilliseconds: number;
  /** An answer is only read so far, and its connection ended if there is more. */
  readonly maxReadBytes: number;
  readonly maxKeptBytes: number;
  /** A connection is used no longer, so that a name that has moved is looked up again. */
  readonly maxConnectionMilliseconds: number;
  readonly maxIdleMilliseconds: number;
  /** Of all hosts, for HTTP and for HTTPS: the process needs its file descriptors for its own callers. */
  readonly maxIdleConnections: number;
  /** Name servers, or null for those of the system. */
  readonly nameServers: readonly string[] | null;
  /** How long the name servers of the system are used before they are read again. */
  readonly maxResolverMilliseconds: number;
  readonly hostsFile: string;
};

export const SEND_LIMITS: SendLimits = {
  connectTimeoutMilliseconds: 5_000,
  // When a name server has not answered for so long, it is asked again.
  otherFamilyMilliseconds: 1_000,
  answerTimeoutMilliseconds: 15_000,
  maxReadBytes: 16_384,
  maxKeptBytes: 1_024,
  maxConnectionMilliseconds: 300_000,
  // Long enough for steady traffic. A server may end it sooner; then a new one takes its place.
  maxIdleMilliseconds: 30_000,
  maxIdleConnections: 1_000,
  nameServers: null,
  maxResolverMilliseconds: 60_000,
  hostsFile: '/etc/hosts',
};
