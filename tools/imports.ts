// Checks with dependency-cruiser that imports follow the arrows of ARCHITECTURE.md: node tools/imports.ts [--product] [directory]
// With --product it skips test/ and most of verification/, where files may import everything. That halves the work.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cruise, type IForbiddenRuleType } from 'dependency-cruiser';

/** Modules that all of the server may import. */
const GROUND = ['domain/', 'installation.mjs', 'server/foundation/'];

/** Modules that handlers may import. */
const OF_HANDLERS = [...GROUND, 'contract/', 'server/calls/', 'server/commit/', 'server/store/'];

/** A level of the arrow, and the paths that it may import in addition to itself. */
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
 *     main, service, handlers -> everything in server/
 *     host -> observe -> { background -> subjects -> commit, http -> pages } -> calls -> { store, contract }
 *     { service, host, observe } -> postgres;  contract -> domain;  everything in server/ -> foundation -> domain
 *     in background: delivery, processors -> outbound
 *     { service, host } -> sign-in -> { background/outbound, calls }
 *     cli -> { sdk, contract, domain };  console -> sdk;  simulator imports nothing;  { test, verification, bench, tools } -> everything
 *     verification/model -> types of { contract, domain }
 */
const levels: readonly Level[] = [
  {
    from: ['server/main.ts', 'server/service.ts', 'server/handlers.ts'],
    to: ['contract/', 'domain/', 'installation.mjs', 'server/'],
    node: true,
  },
  {
    from: ['server/host/'],
    to: [
      ...OF_HANDLERS,
      'server/subjects/',
      'server/http/',
      'server/background/',
      'server/observe/',
      'server/postgres/',
      'server/sign-in/',
    ],
    packages: ['pino'],
    node: true,
  },
  {
    from: ['server/observe/'],
    to: [...OF_HANDLERS, 'server/subjects/', 'server/http/', 'server/background/', 'server/postgres/'],
    packages: ['pino', 'prom-client'],
    node: true,
  },
  {
    from: ['server/observe/traces/'],
    to: [...GROUND, 'server/calls/trace.ts'],
    // Together with pg, the only packages with a network client: see tools/lint/network.grit.
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
    ],
  },
  {
    from: ['server/http/'],
    to: [...GROUND, 'contract/', 'server/calls/', 'server/pages/'],
    packages: ['find-my-way'],
    node: true,
  },
  { from: ['server/pages/'], to: [...GROUND, 'contract/', 'server/calls/'], packages: ['marked'], node: true },
  { from: ['server/background/jobs/'], to: [...OF_HANDLERS, 'server/subjects/'], node: true },
  {
    from: ['server/background/delivery/'],
    to: [...OF_HANDLERS, 'server/subjects/', 'server/background/outbound/'],
    node: true,
  },
  {
    from: ['server/background/processors/'],
    to: [...OF_HANDLERS, 'server/subjects/', 'server/background/outbound/', 'server/background/jobs/rounds.ts'],
    node: true,
  },
  // send.ts is the only file that may open connections to other hosts, except the SDK in server/observe/traces/: see
  // tools/lint/network.grit.
  { from: ['server/background/outbound/'], to: GROUND, node: true },
  // The packages get the fetch of server/sign-in/door.ts, which sends through send.ts.
  {
    from: ['server/sign-in/'],
    to: [...GROUND, 'contract/', 'server/calls/', 'server/background/outbound/'],
    packages: ['jose', 'openid-client'],
    node: true,
  },
  { from: ['server/subjects/'], to: OF_HANDLERS, node: true },
  { from: ['server/commit/'], to: [...GROUND, 'contract/', 'server/calls/', 'server/store/'], node: true },
  { from: ['server/calls/'], to: [...GROUND, 'contract/', 'server/store/'], node: true },
  { from: ['server/store/'], to: GROUND, packages: ['pg'], node: true },
  { from: ['server/postgres/'], to: GROUND, packages: ['pg'], node: true },
  { from: ['server/foundation/'], to: ['domain/', 'installation.mjs'], packages: ['ipaddr.js'], node: true },
  {
    from: ['cli/'],
    to: ['sdk/', 'contract/', 'domain/', 'installation.mjs'],
    packages: ['@modelcontextprotocol/server', 'commander', 'csv-parse', 'fast-xml-parser'],
    node: true,
  },
  { from: ['console/'], to: ['sdk/'], packages: ['lucide-preact', 'preact'] },
  { from: ['sdk/'], to: [] },
  // The simulator stands for another company's program. It shares nothing with the service except the contract between them.
  { from: ['simulator/'], to: [], node: true },
  { from: ['contract/'], to: ['domain/'], packages: ['minisearch', 'typebox'] },
  { from: ['domain/'], to: [] },
  { from: ['verification/model/'], to: ['contract/', 'domain/'] },
  { from: ['installation.mjs'], to: [], node: true },
];

/** Folders and files outside the product: they may import everything, but their imports must have no cycles. */
const outside = ['test/', 'verification/', 'bench/', 'tools/', 'examples/', 'vitest.config.ts'];

const testPackages = ['vitest', 'fast-check'];

const isFile = (path: string) => !path.endsWith('/');
const places = levels.flatMap(({ from }) => from);
const pathPattern = (path: string) => `^${path.replaceAll('.', '\\.')}${isFile(path) ? '$' : ''}`;
const testPattern = (path: string) => `^${path.replaceAll('.', '\\.')}.*\\.test\\.ts$`;
const packagePattern = (name: string) => `(^|/)node_modules/${name}/`;

const rules: readonly IForbiddenRuleType[] = [
  {
    name: 'No cycles: move the code that these files share into a file that does not import them.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'A subject imports no other subject except audit: code that two subjects share is in server/calls/ or domain/.',
    from: { path: '^server/subjects/([^/]+)/' },
    to: { path: '^server/subjects/', pathNot: '^server/subjects/(?:$1|audit)/' },
  },
  {
    name: 'Only the start, the commands and server/observe/ read the settings: take the value as an argument.',
    from: { path: '^server/', pathNot: '^server/(main\\.ts|service\\.ts|host/|observe/|foundation/configuration/)' },
    to: { path: '^server/foundation/configuration/' },
  },
  {
    name: 'The model imports only types from other folders: it must not run the code that it checks.',
    from: { path: '^verification/model/', pathNot: '\\.test\\.ts$' },
    to: { pathNot: '^verification/model/', dependencyTypesNot: ['type-only'] },
  },
  ...levels.flatMap(rulesOf),
];

/** The rules of a level. Their names are the messages of violations. */
function rulesOf({ from, to, packages = [], node = false }: Level): readonly IForbiddenRuleType[] {
  return from.flatMap((who) => {
    // Paths with a separate level are excluded from the level of their folder.
    const others = places.filter((place) => place !== who && place.startsWith(who)).map(pathPattern);
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
      name: `${who} may import no module of Node: take its result as an argument.`,
      from: own,
      to: { dependencyTypes: ['core'] },
    };
    return node ? [arrow, tests] : [arrow, tests, nodeModules];
  });
}

type Inspection = { readonly modules: number; readonly problems: readonly string[] };

/** Reads every module below a directory. Returns their number, and a line for each import that breaks a rule. */
export async function inspectImports(root: string, isProductOnly = false): Promise<Inspection> {
  const { output } = await cruise(
    ['.'],
    {
      baseDir: root,
      // With TypeScript 7, the default parser of dependency-cruiser reads nothing and so finds no problems.
      parser: 'swc',
      tsPreCompilationDeps: true,
      // Folders such as dist/ are built, and may be missing.
      exclude: `^(?:\\.\\./)?(${isProductOnly ? 'test|verification/(?!model/)[^/]*|' : ''}data|dist[^/]*|\\.git|console/built[^/]*|sdk/dist[^/]*)/`,
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
    ...unknown.map((source) => `${source}: it belongs to no folder in tools/imports.ts.`),
  ];
  return { modules: modules.length, problems: problems.sort() };
}

/** With fewer modules than this, the parser has failed: the project is not that small. */
const MIN_MODULES = 400;

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { product: { type: 'boolean' } }, allowPositionals: true });
  const { modules, problems } = await inspectImports(resolve(positionals[0] ?? '.'), values.product);
  for (const problem of problems) console.log(problem);
  if (modules < MIN_MODULES) console.log(`Only ${modules} modules were read; expected at least ${MIN_MODULES}.`);
  if (problems.length > 0 || modules < MIN_MODULES) process.exitCode = 1;
}
