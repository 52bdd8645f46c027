/** What stands in one place and what it may reach. */
export type Room = {
  /** A folder, or a single file that has rules of its own. The longest that fits a file's path is its room. */
  readonly room: string;
  /** The rooms it may import, besides itself; `everything` for what is not part of the running service. */
  readonly mayImport: readonly string[] | 'everything';
  /** The packages it may import; `node:` stands for Node's own modules. */
  readonly packages: readonly string[] | 'any';
};

/** What the server's rooms may import besides what they name. */
const FOUNDATION = [
  'server/redaction.ts',
  'contract',
  'domain',
  'server/ids.ts',
  'server/startup-problem.ts',
  'server/url-credentials.ts',
];

/** The subjects: each holds the handlers of its operations, and what only they need. */
const SUBJECTS = [
  'server/transfers',
  'server/cards',
  'server/programs',
  'server/keys',
  'server/switch',
  'server/error-log',
  'server/audit',
  'server/sandbox',
  'server/events',
];

/**
 * The arrow of imports, from the programs down. `main.ts` and `administration.ts` are the two programs, and
 * `open-database.ts` is what both begin with.
 *
 *     main -> { http -> pages, jobs, delivery } -> subjects -> { commit, operations } -> store -> domain
 *                                         http, subjects -> contract -> domain
 *                                            cli, console -> { sdk, contract, domain }
 */
export const house: readonly Room[] = [
  { room: 'server/main.ts', mayImport: 'everything', packages: ['pino', 'node:'] },
  { room: 'server/administration.ts', mayImport: 'everything', packages: ['node:'] },
  {
    room: 'server/open-database.ts',
    mayImport: [...FOUNDATION, 'server/config.ts', 'server/store', 'server/embedded-postgres'],
    packages: ['node:'],
  },
  {
    room: 'server/handlers.ts',
    mayImport: [...FOUNDATION, ...SUBJECTS, 'server/operations', 'server/commit', 'server/store'],
    packages: [],
  },
  { room: 'server/readiness.ts', mayImport: [...FOUNDATION, 'server/operations', 'server/store'], packages: ['node:'] },
  { room: 'server/log.ts', mayImport: ['server/config.ts', 'server/redaction.ts'], packages: ['pino'] },
  { room: 'server/crash.ts', mayImport: ['server/redaction.ts'], packages: ['node:'] },

  {
    room: 'server/http',
    mayImport: [...FOUNDATION, 'server/operations', 'server/pages'],
    packages: ['fastify', 'node:'],
  },
  {
    room: 'server/pages',
    mayImport: [...FOUNDATION, 'server/operations'],
    packages: ['node:'],
  },
  {
    room: 'server/jobs',
    mayImport: [...FOUNDATION, ...SUBJECTS, 'server/operations', 'server/commit', 'server/store'],
    packages: ['node:'],
  },
  {
    room: 'server/delivery',
    mayImport: [...FOUNDATION, 'server/operations', 'server/store', 'server/outbound'],
    packages: ['node:'],
  },

  ...SUBJECTS.map((room) => ({
    room,
    mayImport: [
      ...FOUNDATION,
      ...SUBJECTS,
      'server/commit',
      'server/operations',
      'server/store',
      'server/embedded-postgres',
    ],
    packages: ['node:'],
  })),
  {
    room: 'server/operations',
    mayImport: [...FOUNDATION, 'server/commit', 'server/store', 'server/transfers'],
    packages: ['node:'],
  },
  { room: 'server/commit', mayImport: [...FOUNDATION, 'server/operations', 'server/store'], packages: ['node:'] },

  {
    room: 'server/store',
    mayImport: ['domain', 'server/ids.ts', 'server/startup-problem.ts'],
    packages: ['pg', 'node:'],
  },
  { room: 'server/embedded-postgres', mayImport: ['server/startup-problem.ts'], packages: ['pg', 'node:'] },

  {
    room: 'server/config.ts',
    mayImport: ['server/startup-problem.ts', 'server/url-credentials.ts'],
    packages: ['typebox', 'node:'],
  },
  { room: 'server/redaction.ts', mayImport: ['domain', 'server/store', 'server/url-credentials.ts'], packages: [] },
  { room: 'server/ids.ts', mayImport: [], packages: ['node:'] },
  { room: 'server/startup-problem.ts', mayImport: [], packages: ['node:'] },
  { room: 'server/url-credentials.ts', mayImport: ['domain'], packages: [] },

  { room: 'cli', mayImport: ['sdk', 'contract', 'domain'], packages: 'any' },
  { room: 'console', mayImport: ['sdk', 'contract'], packages: 'any' },
  { room: 'sdk', mayImport: [], packages: [] },

  { room: 'contract', mayImport: ['domain'], packages: ['typebox'] },

  { room: 'domain', mayImport: [], packages: [] },

  { room: 'test', mayImport: 'everything', packages: 'any' },
  { room: 'bench', mayImport: 'everything', packages: 'any' },
  { room: 'setup', mayImport: 'everything', packages: 'any' },
  { room: 'tidy.ts', mayImport: 'everything', packages: 'any' },
  { room: 'vitest.config.ts', mayImport: 'everything', packages: 'any' },
];

/** The modules of Node with which a program can call others. */
export const networkModules: readonly string[] = ['http', 'https', 'http2', 'net', 'tls', 'dgram', 'dns'];

/** What is taken of them all the same. Types are free: they vanish. */
export const namesFromNetworkModules: readonly {
  readonly rooms: readonly string[] | 'everywhere';
  readonly names: readonly string[];
}[] = [
  // Tables and questions about texts: nothing is connected with them.
  { rooms: 'everywhere', names: ['STATUS_CODES', 'isIP', 'isIPv4', 'isIPv6'] },
  // With these one is called.
  { rooms: ['server/http'], names: ['createServer', 'Server', 'ServerResponse'] },
];

/** What every program can call others with, without any import. */
export const globalsThatCall: readonly string[] = ['fetch', 'WebSocket', 'EventSource'];

/** The rooms that call others: callers of the service, and what is no part of the running service. */
export const mayCallOthers: readonly string[] = ['sdk', 'cli', 'console', 'test', 'bench', 'setup'];

/** What a test that stands beside its subject may import besides what the room may. */
export const packagesOfTests: readonly string[] = ['vitest', 'fast-check', 'node:'];

/** Imports against the arrow that are allowed one by one, each with the reason that nothing else would do. */
export const exceptions: readonly { readonly from: string; readonly to: string; readonly reason: string }[] = [
  {
    from: 'cli/transfer-service.mjs',
    to: 'setup/bootstrap.mjs',
    reason: 'the command may be the first thing run in a fresh checkout, before any dependency is there',
  },
];

const holds = (room: string, path: string) => path === room || path.startsWith(`${room}/`);

/** The room of a file; undefined for a file that stands in none. */
export function roomOf(path: string): Room | undefined {
  return house
    .filter(({ room }) => holds(room, path))
    .sort((one, other) => other.room.length - one.room.length)
    .at(0);
}
