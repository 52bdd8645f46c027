import type { Mutant, Witness } from './mutant.ts';

const spellings = (only: string): Witness => ({ file: 'test/outbound/spellings.test.ts', only });
const names = (only: string): Witness => ({ file: 'test/outbound/names.test.ts', only });
const answers = (only: string): Witness => ({ file: 'test/outbound/answers.test.ts', only });
const connections = (only: string): Witness => ({ file: 'test/outbound/connections.test.ts', only });
const tls = (only: string): Witness => ({ file: 'test/outbound/tls.test.ts', only });
const NETWORKS: Witness = { file: 'test/outbound/networks.test.ts' };
const SIGNATURES: Witness = { file: 'test/outbound/signature.test.ts' };
const delivery = (only: string): Witness => ({ file: 'test/delivery/deliver.test.ts', only });

const SEND = 'server/background/outbound/send.ts';
const ADDRESSES = 'server/subjects/webhooks/addresses.ts';
const RANGES = 'server/foundation/networks.ts';
const LEASES: Witness = { file: 'test/store/webhooks/leases.test.ts' };

const CHECK = 'if (!addresses.every((address) => this.#isAllowed(address, target))) throw addressRefused();';

/** Mistakes that send requests to forbidden addresses or trust the wrong certificates. */
const OUTBOUND: readonly Mutant[] = [
  {
    name: 'outbound-literal-unchecked',
    mistake: 'an IP address in the URL is not checked before the connection, because it needs no look-up',
    file: SEND,
    find: CHECK,
    replace: CHECK.replace('if (', 'if (isIP(target.host) === 0 && '),
    witnesses: [spellings('without a check of the URL')],
  },
  {
    name: 'outbound-url-unchecked',
    mistake: 'the URL of a webhook may contain a forbidden address',
    find: '=== false ? ADDRESS_PROBLEM : undefined',
    replace: '=== false && networks.length > 99 ? ADDRESS_PROBLEM : undefined',
    witnesses: [spellings('refused without a connection')],
  },
  {
    name: 'outbound-remote-address-unchecked',
    mistake: 'the remote address of a connection is not checked before the request is written',
    find: 'if (address === null || !this.#isAllowed(address, target)) throw addressRefused();',
    replace: 'if (address === null) throw addressRefused();',
    witnesses: [spellings('went elsewhere')],
  },
  {
    name: 'outbound-first-address-checked',
    mistake: 'only the first address of a name is checked',
    file: SEND,
    find: CHECK,
    replace: CHECK.replace('addresses.every', 'addresses.slice(0, 1).every'),
    witnesses: [names('one of them is forbidden')],
  },
  {
    name: 'outbound-one-good-address-is-enough',
    mistake: 'a connection is allowed if any address of the name is allowed',
    file: SEND,
    find: CHECK,
    replace: CHECK.replace('addresses.every', 'addresses.some'),
    witnesses: [names('one of them is forbidden')],
  },
  {
    name: 'outbound-looks-up-twice',
    mistake: 'one look-up of a name is checked, and another one is used to connect',
    find: '        done(\n          null,\n          addresses.map((address) => ({ address, family: isIP(address) })),\n        ),',
    replace:
      '        void this.#addressesOf(host).then((found) =>\n          done(null, found.map((address) => ({ address, family: isIP(address) }))),\n        ),',
    witnesses: [names('once per connection')],
  },
  {
    name: 'outbound-follows-redirects',
    mistake: 'a redirect is followed',
    find: '      isAnswered = true;\n      const { statusCode: status = 0, headers } = response;',
    replace:
      '      isAnswered = true;\n      const { statusCode: status = 0, headers } = response;\n      const url = headers.location;\n      if (status < 400 && url !== undefined) return resolve(await sendOnce(agent, { ...outgoing, url }, limits, endsAt));',
    witnesses: [
      answers('is not followed'),
      { file: 'test/outbound/isolation.test.ts', only: 'the redirect of an endpoint' },
    ],
  },
  {
    name: 'outbound-mapped-addresses-allowed',
    mistake: 'IPv6 addresses that contain IPv4 addresses count as public',
    find: "  '::/3',\n",
    replace: '',
    witnesses: [spellings('refused without a connection'), NETWORKS],
  },
  {
    name: 'outbound-6to4-allowed',
    mistake: 'addresses of 6to4, which contain IPv4 addresses, count as public',
    find: "  '2002::/16',\n",
    replace: '',
    witnesses: [NETWORKS],
  },
  {
    name: 'outbound-metadata-in-a-private-network',
    mistake: 'an allowed private network also allows its metadata addresses',
    file: ADDRESSES,
    find: "isInNetworks(kind === 'local' ? singles : networks, address)",
    replace: "isInNetworks(kind === 'local' && singles.length > 99 ? singles : networks, address)",
    witnesses: [NETWORKS],
  },
  {
    name: 'outbound-loopback-network-allowed',
    mistake: 'WEBHOOK_ALLOWED_NETWORKS may name a network of loopback addresses',
    find: 'LOCAL.some((range) => overlap(range, network))',
    replace: 'LOCAL.some((range) => range[1] > 128 && overlap(range, network))',
    also: [
      { file: RANGES, find: 'if (isPart(network, LOCAL) ||', replace: 'if (isPart(network, LOCAL.slice(0, 0)) ||' },
    ],
    witnesses: [NETWORKS],
  },
  {
    name: 'outbound-http-in-live-mode',
    mistake: 'live mode sends without TLS, and to any port',
    find: "(mode === 'sandbox' || findLiveProblem(to) === undefined)",
    replace: "(mode === 'sandbox' || findLiveProblem(to) !== '')",
    witnesses: [names('other ports and HTTP')],
  },
  {
    name: 'outbound-user-name-in-the-url',
    mistake: 'a URL may have a user name, so that parsers disagree about the host',
    file: ADDRESSES,
    find: "url.username !== '' || url.password !== '' ||",
    replace: "url.password !== '' || text.length > 9_999 ||",
    also: [{ file: ADDRESSES, find: '/^[^/]*\\/\\/[^/?#]*@/.test(text)', replace: "text.includes('//@')" }],
    witnesses: [spellings('refuses the URL')],
  },
  {
    name: 'outbound-certificates-unchecked',
    mistake: 'every certificate is trusted',
    find: 'rejectUnauthorized: true,',
    replace: 'rejectUnauthorized: false,',
    witnesses: [tls('gets nothing')],
  },
  {
    name: 'outbound-certificates-by-the-environment',
    mistake: 'NODE_TLS_REJECT_UNAUTHORIZED switches the check of certificates off',
    find: '        rejectUnauthorized: true,\n',
    replace: '',
    witnesses: [tls('no environment variable')],
  },
  {
    name: 'outbound-authority-ignored',
    mistake: 'the certificates of WEBHOOK_CA are not trusted',
    find: "ca: [...getCACertificates('default'), ...added]",
    replace: "ca: [...getCACertificates('default'), ...added.slice(1)]",
    witnesses: [tls('is trusted by WEBHOOK_CA')],
  },
  {
    name: 'outbound-headers-frame-the-request',
    mistake: 'headers of a webhook may say where its request ends',
    find: 'lower.filter(([name]) => !FRAMING_HEADERS.has(name))',
    replace: "lower.filter(([name]) => name !== '')",
    witnesses: [answers('a request is a POST')],
  },
  {
    name: 'outbound-connection-for-ever',
    mistake: 'connections never get too old, so a name that has moved is not looked up again',
    find: 'if (left <= 0 || isKept === false ||',
    replace: 'if (isKept === false ||',
    witnesses: [connections('maximum life')],
  },
  {
    name: 'outbound-sends-twice',
    mistake: 'a request is sent again although the receiver has begun to respond',
    find: 'request.reusedSocket && !isAnswered &&',
    replace: 'request.reusedSocket &&',
    witnesses: [connections('after an answer began')],
  },
  {
    name: 'outbound-waits-for-each-byte',
    mistake: 'the time limit of a response starts again with every byte',
    find: "    request.on('socket', (socket) => {\n",
    replace: "    request.on('socket', (socket) => {\n      socket.on('data', () => timer.refresh());\n",
    witnesses: [answers('come byte by byte')],
  },
  {
    name: 'outbound-aborts-when-it-is-connected',
    mistake: 'an aborted request keeps waiting for its connection',
    find: '      end();\n      reject(failure);\n      request.destroy();',
    replace: '      end();\n      request.destroy(failure);',
    witnesses: [connections('ends at once while it connects')],
  },
  {
    name: 'outbound-writes-what-is-not-wanted',
    mistake: 'a request is written although its process lost the lease while it connected',
    find: 'if (outgoing.isWanted?.() === false) onAbort();',
    replace: 'outgoing.isWanted?.();',
    witnesses: [connections('no longer wanted')],
  },
  {
    name: 'outbound-keeps-nul',
    mistake: 'the stored part of a response can contain NUL, which the database refuses',
    find: ".replaceAll('\\0', '\\uFFFD')",
    replace: '',
    witnesses: [answers('NUL')],
  },
];

/** Mistakes about signatures and stored deliveries. */
const SENDING: readonly Mutant[] = [
  {
    name: 'signature-of-the-body-only',
    mistake: 'the signature does not cover the id and the time, so a request can be replayed forever',
    file: 'server/foundation/signature.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source.
    find: '.update(`${id}.${timestamp}.`)',
    replace: '',
    witnesses: [SIGNATURES],
  },
  {
    name: 'signature-of-one-secret',
    mistake: 'only the newest secret signs while the old one is still valid',
    find: 'const signatures = keys.map(',
    replace: 'const signatures = keys.slice(0, 1).map(',
    witnesses: [SIGNATURES],
  },
  {
    name: 'attempts-not-redacted',
    mistake: "a receiver's response is stored with the secrets in it",
    find: 'redactAnswer(answer.bodyStart, headers)',
    replace: 'answer.bodyStart',
    witnesses: [delivery('stores attempts without secrets')],
  },
  {
    name: 'signature-of-an-expired-secret',
    mistake: 'an expired secret still signs',
    find: 'expiresAt === null || expiresAt > now)',
    replace: 'expiresAt === null || expiresAt > 0 * now)',
    witnesses: [{ file: 'test/delivery/secrets.test.ts', only: 'stops signing with a secret when it expires' }],
  },
];

/** Mistakes that lose events, repeat them or send them out of order. */
const ORDER: readonly Mutant[] = [
  {
    name: 'webhook-forgets-failed-probes',
    mistake: 'an event whose probe failed counts as settled, and waits until the process restarts',
    find: 'if (hasChangedRow) this.#done.add(',
    replace: 'if (dueAt !== null) this.#done.add(',
    witnesses: [{ file: 'test/delivery/failures.test.ts', only: 'sends an event whose probe failed again' }],
  },
  {
    name: 'webhook-cursor-before-the-answer',
    mistake: 'the position moves past events that were sent but have no response yet',
    find: 'const added = { place, isDone: false };',
    replace: 'const added = { place, isDone: true };',
    witnesses: [{ file: 'test/delivery/outages.test.ts', only: 'an event without a response is sent again' }],
  },
  {
    name: 'webhook-sends-before-it-has-stored',
    mistake: 'the next event is sent before the response to the previous event is stored',
    find: '    this.#outcomes.push(outcome);\n',
    replace:
      '    this.#outcomes.push(outcome);\n    outcome.endpoint.release(outcome.item, outcome.failed?.nextAt ?? null, true);\n',
    also: [
      {
        find: '      outcome.endpoint.release(outcome.item, failed?.nextAt ?? null, failed !== null || finished.length > 0);\n',
        replace: '',
      },
    ],
    witnesses: [{ file: 'test/delivery/stored-first.test.ts' }],
  },
  {
    name: 'webhook-strict-order-passes-failures',
    mistake: 'a failed event does not block the next one, although the order is strict',
    find: 'const isPutBack = failed === null && ',
    replace: 'const isPutBack = failed !== null && ',
    witnesses: [{ file: 'test/delivery/order.test.ts', only: 'sends no event before a failed one' }],
  },
  {
    name: 'webhook-epoch-unchecked',
    mistake: 'a process that lost a shard and got it back stores results from before',
    find: 'webhook_shard.epoch = sent.epoch',
    replace: 'sent.epoch > 0',
    witnesses: [LEASES],
  },
  {
    name: 'webhook-owner-unchecked',
    mistake: 'a process that has lost a shard stores the results of its requests',
    find: 'and webhook_shard.owner = :owner`',
    replace: 'and (webhook_shard.owner = :owner or true)`',
    witnesses: [LEASES],
  },
  {
    name: 'webhook-lease-taken-early',
    mistake: 'a process takes shards whose leases have not expired',
    find: 'const HAS_ENDED = `(owner is null\n',
    replace: 'const HAS_ENDED = `(true or owner is null\n',
    witnesses: [LEASES],
  },
  {
    name: 'webhook-redirect-counts',
    mistake: 'a redirect, which is not followed, counts as delivered',
    find: 'answer.status < 300;',
    replace: 'answer.status < 400;',
    witnesses: [{ file: 'test/outbound/isolation.test.ts', only: 'the redirect of an endpoint' }],
  },
];

/** Mistakes that let a failing webhook burden others, or disable it too soon. */
const FAILING: readonly Mutant[] = [
  {
    name: 'webhook-hangs-with-all-its-requests',
    mistake: 'a receiver that never responds occupies its full concurrency',
    find: 'export const FIRST_WINDOW = 1;',
    replace: 'export const FIRST_WINDOW = 100;',
    witnesses: [{ file: 'test/delivery/order.test.ts', only: 'get one request at a time' }],
  },
  {
    name: 'webhook-disabled-by-an-outage',
    mistake: "the service's own downtime counts as failures of the receiver",
    find: 'lateness > MAX_LATENESS_MILLISECONDS ? failingSince + lateness : failingSince',
    replace: 'lateness > MAX_LATENESS_MILLISECONDS ? failingSince : failingSince',
    witnesses: [{ file: 'domain/webhooks/health.test.ts' }],
  },
  {
    name: 'webhook-failing-told-again',
    mistake: 'webhook.failing is written for every failure after the first hour',
    find: "return notice === 'failing' && endpoint.isFailingTold ? null : notice;",
    replace: 'return notice;',
    witnesses: [{ file: 'test/delivery/failures.test.ts', only: 'after an hour of failures' }],
  },
  {
    name: 'webhook-waits-as-long-as-it-is-told',
    mistake: 'a receiver can delay its events forever with Retry-After',
    find: 'return retryAfterMilliseconds > 2 * base ? 2 * base : retryAfterMilliseconds;',
    replace: 'return retryAfterMilliseconds;',
    witnesses: [{ file: 'domain/webhooks/schedule.test.ts' }],
  },
];

/** Mistakes in the delivery of webhooks. */
export const WEBHOOKS: readonly Mutant[] = [...OUTBOUND, ...SENDING, ...ORDER, ...FAILING];
