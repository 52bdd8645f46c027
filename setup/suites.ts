/** Tests that belong together and run in one go. */
export type Suite = {
  /** What `npm test -- <name>` looks for. */
  readonly name: string;
  /** Every `*.test.ts` below it belongs to the suite. */
  readonly folder: string;
  /** What a failure here would mean to whoever reads the name. */
  readonly purpose: string;
  /** From experience on two cores, generously; beyond it a warning is printed. */
  readonly budgetSeconds: number;
  /** Whether its files may run beside each other; not when they look at what else runs on the machine. */
  readonly filesInParallel: boolean;
  /** Whether it mostly waits: for starts, for time-outs, for recoveries. Such suites run beside those that work. */
  readonly waits?: true;
};

/**
 * The suites, in the order in which they run: the quickest first, and beside them those that mostly wait. To add one,
 * make its folder below test/ and give it an entry here. A folder of test/ or a test file anywhere that no entry covers
 * fails the whole run, and so does a suite in which no test ran: nothing is left out unnoticed.
 */
export const suites: readonly Suite[] = [
  {
    name: 'tidy',
    folder: 'test/tidy',
    purpose: 'each rule of STYLE.md catches what it forbids and nothing else',
    budgetSeconds: 30,
    filesInParallel: true,
  },
  {
    name: 'domain',
    folder: 'domain',
    purpose: 'the rules of money, cards, transfers and limits hold for whatever anyone tries',
    budgetSeconds: 60,
    filesInParallel: true,
  },
  {
    name: 'contract',
    folder: 'contract',
    purpose: 'the definitions of the operations are consistent, and their types are those of their schemas',
    budgetSeconds: 15,
    filesInParallel: true,
  },
  {
    name: 'unit',
    folder: 'server',
    purpose: 'parts of the server that need no running service',
    budgetSeconds: 15,
    filesInParallel: true,
  },
  {
    name: 'sdk',
    folder: 'test/sdk',
    purpose: 'what the TypeScript client sends, and what it makes of every kind of answer',
    budgetSeconds: 30,
    filesInParallel: true,
  },
  {
    name: 'cli',
    folder: 'test/cli',
    purpose: 'what the command line prints and how it exits',
    budgetSeconds: 60,
    filesInParallel: true,
  },
  {
    name: 'properties',
    folder: 'test/properties',
    purpose: 'the rules of money and of the ledger hold for whatever anyone tries',
    budgetSeconds: 60,
    filesInParallel: true,
  },
  {
    name: 'http',
    folder: 'test/http',
    purpose: 'broken, hostile and half-finished requests still get an error that explains itself',
    budgetSeconds: 60,
    filesInParallel: true,
  },
  {
    name: 'pages',
    folder: 'test/pages',
    purpose:
      'the catalogue and the reference show what the tables say, and what they and the guides tell people to try works',
    budgetSeconds: 45,
    filesInParallel: true,
  },
  {
    name: 'store',
    folder: 'test/store',
    purpose: 'the statements, locks and migrations do to a real PostgreSQL what they say',
    budgetSeconds: 120,
    filesInParallel: true,
  },
  {
    name: 'plans',
    folder: 'test/plans',
    purpose: 'no query reads a growing table whole, whether the planner knows the table or not',
    budgetSeconds: 30,
    filesInParallel: true,
  },
  {
    name: 'api',
    folder: 'test/api',
    purpose: 'each operation and each error code, through the SDK, against a running service',
    budgetSeconds: 150,
    filesInParallel: true,
  },
  {
    name: 'errors',
    folder: 'test/errors',
    purpose: 'every error is found by its request id, whatever was down meanwhile, and holds no card number',
    budgetSeconds: 60,
    filesInParallel: true,
    waits: true,
  },
  {
    name: 'security',
    folder: 'test/security',
    purpose: 'nobody gets in where they do not belong, sees what is not theirs, or does anything unseen',
    budgetSeconds: 120,
    filesInParallel: true,
    waits: true,
  },
  {
    name: 'codes',
    folder: 'test/codes',
    purpose: 'every code of the catalogue comes by its real cause and by Sandbox-Provoke, and no other code comes',
    budgetSeconds: 90,
    filesInParallel: true,
  },
  {
    name: 'fuzz',
    folder: 'test/fuzz',
    purpose: 'generated requests get a record or exactly what they ask for; npm run fuzz sends a million',
    budgetSeconds: 60,
    filesInParallel: true,
  },
  {
    name: 'embedded',
    folder: 'test/embedded',
    purpose: 'the local PostgreSQL starts anywhere, survives kills and is never owned twice',
    budgetSeconds: 90,
    filesInParallel: true,
    waits: true,
  },
  {
    name: 'start',
    folder: 'test/start',
    purpose: 'a start says what it did or in one sentence why it could not, and a stop leaves nothing behind',
    budgetSeconds: 90,
    filesInParallel: true,
    waits: true,
  },
  {
    name: 'crashes',
    folder: 'test/crashes',
    purpose: 'no kill, at whatever moment, loses or doubles money or an answer',
    budgetSeconds: 150,
    filesInParallel: true,
    waits: true,
  },
  {
    name: 'faults',
    folder: 'test/faults',
    purpose:
      'whatever breaks between a request and its answer, what the answer says of the money is what the books say',
    budgetSeconds: 120,
    filesInParallel: true,
    waits: true,
  },
  {
    name: 'mutants',
    folder: 'test/mutants',
    purpose: 'every mutant fits the source and names tests that exist',
    budgetSeconds: 10,
    filesInParallel: true,
  },
  {
    name: 'torture',
    folder: 'test/torture',
    purpose: 'the rows of npm run torture that no other suite has a small form of find nothing',
    budgetSeconds: 45,
    filesInParallel: false,
    waits: true,
  },
];

/** Folders below test/ that hold no test of their own, only what the suites stand on. */
export const supportFolders: readonly string[] = ['harness'];

/** What the whole run may take on two cores. */
export const budgetSecondsOfAll = 300;
