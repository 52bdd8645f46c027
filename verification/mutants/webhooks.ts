import type { Mutants, Witness } from './mutant.ts';

const spellings = (only: string): Witness => ({ file: 'test/outbound/spellings.test.ts', only });
const names = (only: string): Witness => ({ file: 'test/outbound/names.test.ts', only });
const answers = (only: string): Witness => ({ file: 'test/outbound/answers.test.ts', only });
const connections = (only: string): Witness => ({ file: 'test/outbound/connections.test.ts', only });
const tls = (only: string): Witness => ({ file: 'test/outbound/tls.test.ts', only });
const NETWORKS: Witness = { file: 'test/outbound/networks.test.ts' };
const SIGNATURES: Witness = { file: 'test/outbound/signature.test.ts' };
const delivery = (only: string): Witness => ({ file: 'test/delivery/deliver.test.ts', only });
const LEASES: Witness = { file: 'test/store/webhooks/leases.test.ts' };

/** Mistakes that send requests to forbidden addresses or trust the wrong certificates. */
export const OUTBOUND: Mutants = {
  'outbound-literal-unchecked': {
    mistake: 'an IP address in the URL is not checked before the connection, because it needs no look-up',
    edits: { 'Connector.connect': ['!addresses.every', 'isIP(target.host) === 0 && $&'] },
    witnesses: [spellings('if its URL is not checked')],
  },
  'outbound-url-unchecked': {
    mistake: 'the URL of a webhook may contain a forbidden address',
    edits: { openAddressRules: ['=== false ? ADDRESS_PROBLEM', '=== false && networks.length > 99 ? ADDRESS_PROBLEM'] },
    witnesses: [spellings('refused without a connection')],
  },
  'outbound-remote-address-unchecked': {
    mistake: 'the remote address of a connection is not checked before the request is written',
    edits: { 'Connector.#open': ['address === null || !this.#isAllowed(address, target)', 'address === null'] },
    witnesses: [spellings('to the wrong address')],
  },
  'outbound-first-address-checked': {
    mistake: 'only the first address of a name is checked',
    edits: { 'Connector.connect': ['addresses.every', 'addresses.slice(0, 1).every'] },
    witnesses: [names('one of them is forbidden')],
  },
  'outbound-one-good-address-is-enough': {
    mistake: 'a connection is allowed if any address of the name is allowed',
    edits: { 'Connector.connect': ['addresses.every', 'addresses.some'] },
    witnesses: [names('one of them is forbidden')],
  },
  'outbound-looks-up-twice': {
    mistake: 'one look-up of a name is checked, and the result of another is used to connect',
    edits: {
      'Connector.#open': [
        `done(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        )`,
        `void this.#addressesOf(host).then((found) =>
          done(null, found.map((address) => ({ address, family: isIP(address) }))),
        )`,
      ],
    },
    witnesses: [names('once per connection')],
  },
  'outbound-follows-redirects': {
    mistake: 'a redirect is followed',
    edits: {
      sendOnce: [
        'headers } = response;',
        `$&
      const url = headers.location;
      if (status < 400 && url !== undefined) return resolve(await sendOnce(agent, { ...outgoing, url }, limits, endsAt));`,
      ],
    },
    witnesses: [
      answers('is not followed'),
      { file: 'test/outbound/isolation.test.ts', only: 'a redirect is not followed' },
    ],
  },
  'outbound-mapped-addresses-allowed': {
    mistake: 'IPv6 addresses that contain IPv4 addresses count as public',
    edits: { SPECIAL: ["'::/3',", ''] },
    witnesses: [spellings('refused without a connection'), NETWORKS],
  },
  'outbound-6to4-allowed': {
    mistake: 'addresses of 6to4, which contain IPv4 addresses, count as public',
    edits: { SPECIAL: ["'2002::/16',", ''] },
    witnesses: [NETWORKS],
  },
  'outbound-metadata-in-a-private-network': {
    mistake: 'an allowed private network also allows its metadata addresses',
    edits: { openAddressRules: ["kind === 'local' ? singles", "kind === 'local' && singles.length > 99 ? singles"] },
    witnesses: [NETWORKS],
  },
  'outbound-loopback-network-allowed': {
    mistake: 'WEBHOOK_ALLOWED_NETWORKS may name a network of loopback addresses',
    edits: {
      findNetworkProblem: [
        ['LOCAL.some((range) => ', '$&range[1] > 128 && '],
        ['isPart(network, LOCAL)', 'isPart(network, LOCAL.slice(0, 0))'],
      ],
    },
    witnesses: [NETWORKS],
  },
  'outbound-http-in-live-mode': {
    mistake: 'live mode sends without TLS, and to any port',
    edits: { openAddressRules: ['findLiveProblem(to) === undefined', "findLiveProblem(to) !== ''"] },
    witnesses: [names('other ports and HTTP')],
  },
  'outbound-user-name-in-the-url': {
    mistake: 'a URL may have a user name, so that parsers disagree about the host',
    edits: {
      findSyntaxProblem: [
        ["url.username !== '' || url.password !== ''", "url.password !== '' || text.length > 9_999"],
        ['/^[^/]*\\/\\/[^/?#]*@/.test(text)', "text.includes('//@')"],
      ],
    },
    witnesses: [spellings('refuses the URL')],
  },
  'outbound-certificates-unchecked': {
    mistake: 'every certificate is trusted',
    edits: { 'Connector.#open': ['rejectUnauthorized: true', 'rejectUnauthorized: false'] },
    witnesses: [tls('receives nothing')],
  },
  'outbound-certificates-by-the-environment': {
    mistake: 'NODE_TLS_REJECT_UNAUTHORIZED switches the check of certificates off',
    edits: { 'Connector.#open': ['rejectUnauthorized: true,', ''] },
    witnesses: [tls('no environment variable')],
  },
  'outbound-authority-ignored': {
    mistake: 'the certificates of WEBHOOK_CA are not trusted',
    edits: { 'Connector.#trust': ['...added', '$&.slice(1)'] },
    witnesses: [tls('is trusted by WEBHOOK_CA')],
  },
  'outbound-headers-frame-the-request': {
    mistake: 'the headers of a webhook can change where its request ends',
    edits: { withoutFraming: ['!FRAMING_HEADERS.has(name)', "name !== ''"] },
    witnesses: [answers('a request is a POST')],
  },
  'outbound-connection-for-ever': {
    mistake: 'connections never get too old, so a name that has moved is not looked up again',
    edits: { 'OutboundAgent.keepSocketAlive': ['left <= 0 || isKept', 'isKept'] },
    witnesses: [connections('maximum life')],
  },
  'outbound-sends-twice': {
    mistake: 'a request is sent again although the receiver has begun to respond',
    edits: { sendOnce: ['&& !isAnswered &&', '&&'] },
    witnesses: [connections('after an answer began')],
  },
  'outbound-waits-for-each-byte': {
    mistake: 'the time limit of a response starts again with every byte',
    edits: { sendOnce: ["request.on('socket', (socket) => {", "$&\n      socket.on('data', () => timer.refresh());"] },
    witnesses: [answers('arrive byte by byte')],
  },
  'outbound-aborts-when-it-is-connected': {
    mistake: 'an aborted request keeps waiting for its connection',
    edits: { sendOnce: ['reject(failure);\n      request.destroy()', 'request.destroy(failure)'] },
    witnesses: [connections('ends at once while it is connecting')],
  },
  'outbound-writes-what-is-not-wanted': {
    mistake: 'a request is written although its process lost the lease while it connected',
    edits: { sendOnce: ['outgoing.isWanted?.() === false', 'outgoing.isWanted?.() === null'] },
    witnesses: [connections('writes nothing if it is aborted')],
  },
  'outbound-keeps-nul': {
    mistake: 'the stored part of a response can contain NUL, which the database refuses',
    edits: { readBody: [".replaceAll('\\0', '\\uFFFD')", ''] },
    witnesses: [answers('NUL')],
  },
};

/** Mistakes about signatures and stored deliveries. */
export const SENDING: Mutants = {
  'signature-of-the-body-only': {
    mistake: 'the signature does not cover the id and the time, so a request can be replayed forever',
    edits: { signatureOf: [`.update(\`\${id}.\${timestamp}.\`)`, ''] },
    witnesses: [SIGNATURES],
  },
  'signature-of-one-secret': {
    mistake: 'only the newest secret signs while the old one is still valid',
    edits: { signMessage: ['keys.map', 'keys.slice(0, 1).map'] },
    witnesses: [SIGNATURES],
  },
  'attempts-not-redacted': {
    mistake: "a receiver's response is stored with the secrets in it",
    edits: { toAttempt: ['redactAnswer(answer.bodyStart, headers)', 'answer.bodyStart'] },
    witnesses: [delivery('stores attempts without secrets')],
  },
  'signature-of-an-expired-secret': {
    mistake: 'an expired secret still signs',
    edits: { headersOf: ['expiresAt > now', 'expiresAt > 0 * now'] },
    witnesses: [{ file: 'test/delivery/secrets.test.ts', only: 'a secret signs no request after it expires' }],
  },
};

/** Mistakes that lose events, repeat them or send them out of order. */
export const ORDER: Mutants = {
  'webhook-forgets-failed-probes': {
    mistake: 'an event whose probe failed counts as settled, and waits until the process restarts',
    edits: { 'Retries.forget': ['if (hasChangedRow)', 'if (dueAt !== null)'] },
    witnesses: [{ file: 'test/delivery/failures.test.ts', only: 'resends an event whose probe failed' }],
  },
  'webhook-cursor-before-the-answer': {
    mistake: 'the position moves past events that were sent but have no response yet',
    edits: { 'Places.add': ['isDone: false', 'isDone: true'] },
    witnesses: [{ file: 'test/delivery/outages.test.ts', only: 'an event without a response is resent' }],
  },
  'webhook-sends-before-it-has-stored': {
    mistake: 'the next event is sent before the response to the previous event is stored',
    edits: {
      'OutcomeWriter.add': [
        'this.#outcomes.push(outcome);',
        '$&\n    outcome.endpoint.release(outcome.item, outcome.failed?.nextAt ?? null, true);',
      ],
      'OutcomeWriter.#finish': [
        'outcome.endpoint.release(outcome.item, failed?.nextAt ?? null, failed !== null || finished.length > 0);',
        '',
      ],
    },
    witnesses: [{ file: 'test/delivery/stored-first.test.ts' }],
  },
  'webhook-strict-order-passes-failures': {
    mistake: 'a failed event does not block the next one, although the order is strict',
    edits: { judge: ['failed === null', 'failed !== null'] },
    witnesses: [{ file: 'test/delivery/order.test.ts', only: 'sends no event before a failed one' }],
  },
  'webhook-epoch-unchecked': {
    mistake: 'a process that lost a shard and got it back stores results from before',
    edits: { HELD: ['webhook_shard.epoch = sent.epoch', 'sent.epoch > 0'] },
    witnesses: [LEASES],
  },
  'webhook-owner-unchecked': {
    mistake: 'a process that has lost a shard stores the results of its requests',
    edits: { HELD: ['webhook_shard.owner = :owner', '($& or true)'] },
    witnesses: [LEASES],
  },
  'webhook-lease-taken-early': {
    mistake: 'a process takes shards whose leases have not expired',
    edits: { HAS_ENDED: ['owner is null', 'true or $&'] },
    witnesses: [LEASES],
  },
  'webhook-redirect-counts': {
    mistake: 'a redirect, which is not followed, counts as delivered',
    edits: { judge: ['answer.status < 300', 'answer.status < 400'] },
    witnesses: [{ file: 'test/outbound/isolation.test.ts', only: 'a redirect is not followed' }],
  },
};

/** Mistakes that let a failing webhook burden others, or disable it too soon. */
export const FAILING: Mutants = {
  'webhook-hangs-with-all-its-requests': {
    mistake: 'a receiver that never responds occupies its full concurrency',
    edits: { FIRST_WINDOW: ['FIRST_WINDOW = 1', '$&00'] },
    witnesses: [{ file: 'test/delivery/order.test.ts', only: 'get one request at a time' }],
  },
  'webhook-disabled-by-an-outage': {
    mistake: "the service's own downtime counts as failures of the receiver",
    edits: { failingFrom: ['failingSince + lateness : failingSince', 'failingSince : failingSince'] },
    witnesses: [{ file: 'domain/webhooks/health.test.ts' }],
  },
  'webhook-failing-told-again': {
    mistake: 'webhook.failing is written for every failure after the first hour',
    edits: {
      noticeOf: ["notice === 'failing' && endpoint.isFailingTold ? null : notice", 'notice'],
      giveNotice: [' || version[0]?.is_failing_told === true', ''],
    },
    witnesses: [{ file: 'test/delivery/failures.test.ts', only: 'after an hour of failures' }],
  },
  'webhook-waits-as-long-as-it-is-told': {
    mistake: 'a receiver can delay its events forever with Retry-After',
    edits: {
      adjust: ['retryAfterMilliseconds > 2 * base ? 2 * base : retryAfterMilliseconds', 'retryAfterMilliseconds'],
    },
    witnesses: [{ file: 'domain/webhooks/health.test.ts' }],
  },
};
