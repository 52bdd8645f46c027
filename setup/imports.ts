// Checks that imports follow the arrow of ARCHITECTURE.md, with dependency-cruiser: node setup/imports.ts [directory]
import { resolve } from 'node:path';
import { cruise, type IForbiddenRuleType } from 'dependency-cruiser';

/** Folders and files that every part of the server may import. */
const foundation = [
  'contract/',
  'domain/',
  'server/ids.ts',
  'server/redaction.ts',
  'server/runbook.ts',
  'server/startup-problem.ts',
  'server/url-credentials.ts',
];

const subjects = [
  'transfers',
  'timeline',
  'cards',
  'programs',
  'keys',
  'sessions',
  'switch',
  'status',
  'overview',
  'error-log',
  'requests',
  'audit',
  'sandbox',
  'events',
  'webhooks',
  'search',
];
const subjectFolders = subjects.map((subject) => `server/${subject}/`);

/** What one level of the arrow may import besides itself. */
type Level = {
  /** Folders (with a slash at the end) and files. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly packages?: readonly string[];
  /** Whether it may import modules of Node. */
  readonly node?: boolean;
};

/**
 * The arrow, from the programs down. Type-only imports count.
 *
 *     main -> { http -> pages, jobs, delivery } -> subjects -> { commit, operations } -> store -> domain
 *                                         http, subjects -> contract -> domain
 *                                        cli -> { sdk, contract, domain }, console -> sdk
 */
const levels: readonly Level[] = [
  {
    from: ['server/main.ts', 'server/service.ts', 'server/administration.ts'],
    to: ['server/', ...foundation],
    packages: ['pino'],
    node: true,
  },
  {
    from: ['server/commands/'],
    to: [
      ...foundation,
      ...subjectFolders,
      'server/open-database.ts',
      'server/readiness.ts',
      'server/configuration/',
      'server/embedded-postgres/',
      'server/operations/',
      'server/store/',
    ],
    node: true,
  },
  {
    from: ['server/start/'],
    to: [
      ...foundation,
      'server/open-database.ts',
      'server/readiness.ts',
      'server/version.ts',
      'server/configuration/',
      'server/embedded-postgres/',
      'server/error-log/',
      'server/http/',
      'server/log/',
      'server/operations/',
      'server/overview/',
      'server/sandbox/',
      'server/status/',
      'server/store/',
      'server/metrics/',
      'server/traces/',
    ],
    node: true,
  },
  {
    from: ['server/open-database.ts'],
    to: [...foundation, 'server/configuration/', 'server/store/', 'server/embedded-postgres/'],
    node: true,
  },
  {
    from: ['server/handlers.ts'],
    to: [...foundation, ...subjectFolders, 'server/operations/', 'server/commit/', 'server/store/'],
  },
  { from: ['server/readiness.ts'], to: [...foundation, 'server/operations/', 'server/store/'], node: true },
  {
    from: ['server/log/'],
    to: ['domain/', 'server/configuration/', 'server/http/response-entry.ts', 'server/redaction.ts'],
    packages: ['pino'],
    node: true,
  },
  { from: ['server/version.ts'], to: [], node: true },
  { from: ['server/crash.ts'], to: ['server/log/log-events.ts', 'server/redaction.ts'], node: true },
  {
    from: ['server/http/'],
    to: [...foundation, 'server/operations/', 'server/pages/', 'server/console/'],
    packages: ['fastify'],
    node: true,
  },
  { from: ['server/console/'], to: ['domain/'], node: true },
  { from: ['server/pages/'], to: [...foundation, 'server/operations/'], packages: ['marked'], node: true },
  {
    from: ['server/jobs/'],
    to: [...foundation, ...subjectFolders, 'server/operations/', 'server/commit/', 'server/store/'],
    node: true,
  },
  {
    from: ['server/delivery/'],
    to: [...foundation, ...subjectFolders, 'server/operations/', 'server/commit/', 'server/store/'],
    node: true,
  },
  {
    from: ['server/metrics/'],
    to: [
      ...foundation,
      'server/configuration/',
      'server/http/',
      'server/jobs/',
      'server/delivery/',
      'server/error-log/',
      'server/transfers/',
      'server/operations/',
      'server/commit/',
      'server/store/',
      'server/readiness.ts',
      'server/version.ts',
      'server/embedded-postgres/',
    ],
    packages: ['prom-client'],
    node: true,
  },
  {
    from: ['server/traces/'],
    to: ['domain/', 'server/configuration/traces.ts', 'server/operations/trace.ts', 'server/version.ts'],
    // Beside pg the only packages with a network client: setup/lint/network.grit.
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
    ],
  },
  // Only this file, and the SDK in server/traces/, may open connections to other hosts: setup/lint/network.grit.
  {
    from: ['server/delivery/send.ts'],
    to: ['server/webhooks/addresses.ts', 'server/delivery/door/'],
    node: true,
  },
  {
    from: subjectFolders,
    to: [
      ...foundation,
      ...subjectFolders,
      'server/commit/',
      'server/operations/',
      'server/store/',
      'server/embedded-postgres/',
    ],
    node: true,
  },
  // The list of what operations get names the lane of transfers, the news of events and the tools of webhooks.
  {
    from: ['server/operations/service.ts'],
    to: [
      ...foundation,
      'server/operations/',
      'server/store/',
      'server/transfers/',
      'server/events/event-news.ts',
      'server/webhooks/addresses.ts',
      'server/webhooks/vault.ts',
    ],
  },
  {
    from: ['server/operations/', 'server/commit/'],
    to: [...foundation, 'server/operations/', 'server/commit/', 'server/store/'],
    node: true,
  },
  {
    from: ['server/store/'],
    to: ['domain/', 'server/ids.ts', 'server/runbook.ts', 'server/startup-problem.ts'],
    packages: ['pg'],
    node: true,
  },
  {
    from: ['server/embedded-postgres/'],
    to: ['server/runbook.ts', 'server/startup-problem.ts'],
    packages: ['pg'],
    node: true,
  },
  {
    from: ['server/configuration/'],
    to: ['server/runbook.ts', 'server/startup-problem.ts', 'server/url-credentials.ts', 'server/webhooks/networks.ts'],
    node: true,
  },
  { from: ['server/redaction.ts'], to: ['domain/', 'server/store/', 'server/url-credentials.ts'] },
  { from: ['server/ids.ts'], to: [], node: true },
  { from: ['server/runbook.ts'], to: [] },
  { from: ['server/startup-problem.ts'], to: ['server/runbook.ts'] },
  { from: ['server/url-credentials.ts'], to: ['domain/'] },
  // The command may be the first thing that runs in a fresh checkout, so it starts with the installation.
  { from: ['cli/transfer-service.mjs'], to: ['setup/bootstrap.mjs'], node: true },
  { from: ['cli/'], to: ['sdk/', 'contract/', 'domain/'], packages: ['commander'], node: true },
  { from: ['console/'], to: ['sdk/'], packages: ['preact', 'uplot'] },
  { from: ['sdk/'], to: [] },
  { from: ['contract/'], to: ['domain/'], packages: ['typebox'] },
  { from: ['domain/'], to: [] },
];

/** Folders and files that are no part of the product: they may import everything, but no cycles. */
const outside = ['test/', 'bench/', 'setup/', 'vitest.config.ts'];

/** A unit test may also import these. */
const testPackages = ['vitest', 'fast-check'];

const isFile = (path: string) => !path.endsWith('/');
const files = levels.flatMap(({ from }) => from.filter(isFile));
const pathPattern = (path: string) => `^${path.replaceAll('.', '\\.')}${isFile(path) ? '$' : ''}`;
const testPattern = (path: string) => `^${path.replaceAll('.', '\\.')}.*\\.test\\.ts$`;
const packagePattern = (name: string) => `(^|/)node_modules/${name}/`;

const rules: readonly IForbiddenRuleType[] = [
  {
    name: 'No cycles: move what these files need into a file that imports none of them.',
    from: {},
    to: { circular: true },
  },
  ...levels.flatMap(rulesOf),
];

/** The names of the rules are the sentences that a reader of a violation needs. */
function rulesOf({ from, to, packages = [], node = false }: Level): readonly IForbiddenRuleType[] {
  return from.flatMap((who) => {
    // A file with a level of its own does not belong to the level of its folder.
    const others = files.filter((file) => file !== who).map(pathPattern);
    const own = { path: pathPattern(who), pathNot: [...others, '\\.test\\.ts$'] };
    const allowed = [who, ...to].map(pathPattern);
    const arrow: IForbiddenRuleType = {
      name: `${who} may import only ${[...to, ...packages].join(', ') || 'itself'}.`,
      from: own,
      to: { pathNot: [...allowed, ...packages.map(packagePattern)], dependencyTypesNot: ['core'] },
    };
    const tests: IForbiddenRuleType = {
      name: `Tests in ${who} may also import only test/, ${testPackages.join(', ')} and modules of Node.`,
      from: { path: testPattern(who) },
      to: {
        pathNot: [...allowed, '^test/', ...[...packages, ...testPackages].map(packagePattern)],
        dependencyTypesNot: ['core'],
      },
    };
    const nodeModules: IForbiddenRuleType = {
      name: `${who} may import no module of Node: take what it gives as an argument.`,
      from: own,
      to: { dependencyTypes: ['core'] },
    };
    return node ? [arrow, tests] : [arrow, tests, nodeModules];
  });
}

/** What is wrong with the imports of a project. */
type Inspection = { readonly modules: number; readonly problems: readonly string[] };

/** Reads every module below a directory: how many there are, and a line for each import that breaks a rule. */
export async function inspectImports(root: string): Promise<Inspection> {
  const { output } = await cruise(
    ['.'],
    {
      baseDir: root,
      // With TypeScript 7 the parser that dependency-cruiser would choose reads nothing, and finds nothing wrong.
      parser: 'swc',
      tsPreCompilationDeps: true,
      // dist/ and the like are built, and may not be there.
      exclude: '^(?:\\.\\./)?(data|dist[^/]*|\\.git|console/built[^/]*|sdk/dist[^/]*)/',
      doNotFollow: 'node_modules',
      preserveSymlinks: true,
      validate: true,
      ruleSet: { forbidden: rules.map((rule) => ({ ...rule, severity: 'error' })) },
    },
    { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  );
  if (typeof output === 'string') throw new Error('dependency-cruiser returned a report instead of its result.');
  const modules = output.modules
    .filter(({ coreModule, couldNotResolve }) => coreModule !== true && couldNotResolve !== true)
    .map(({ source }) => source)
    .filter((source) => !/(?:^|\/)node_modules\//.test(source) && !source.endsWith('.json'));
  const known = [...levels.flatMap(({ from }) => from), ...outside].map((path) => new RegExp(pathPattern(path)));
  const unknown = modules.filter((source) => !known.some((pattern) => pattern.test(source)));
  const problems = [
    ...output.summary.violations.map(({ from, to, rule, cycle }) => {
      const chain = cycle === undefined ? to : cycle.map(({ name }) => name).join(' -> ');
      return `${from} -> ${chain}: ${rule.name}`;
    }),
    ...unknown.map((source) => `${source}: it belongs to no folder that setup/imports.ts knows.`),
  ];
  return { modules: modules.length, problems: problems.sort() };
}

/** With fewer modules than this the parser has read nothing: the project is not that small. */
const MIN_MODULES = 400;

if (import.meta.main) {
  const { modules, problems } = await inspectImports(resolve(process.argv[2] ?? '.'));
  for (const problem of problems) console.log(problem);
  if (modules < MIN_MODULES) console.log(`Only ${modules} modules were read; expected at least ${MIN_MODULES}.`);
  if (problems.length > 0 || modules < MIN_MODULES) process.exitCode = 1;
}
