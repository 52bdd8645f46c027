/**
 * A rule of STYLE.md, with files that break it and the most similar files that do not. Each file name is used only
 * once.
 */
export type Example = {
  readonly rule: string;
  readonly broken: Readonly<Record<string, string>>;
  /** The start of each reported problem. */
  readonly says: readonly string[];
  readonly clean: Readonly<Record<string, string>>;
};

const lines = (count: number, line: string) => `${line}\n`.repeat(count);
const EMPTY = 'export {};\n';

/** Rules that dependency-cruiser checks. */
export const importExamples: readonly Example[] = [
  {
    rule: 'domain imports only itself',
    broken: {
      'domain/a-card.ts': "import { query } from '../server/store/a-card.ts';\nvoid query;\n",
      'server/store/a-card.ts': EMPTY,
    },
    says: ['domain/a-card.ts -> server/store/a-card.ts: domain/ may import only itself'],
    clean: { 'domain/b-card.ts': "import './ledger/b-money.ts';\n", 'domain/ledger/b-money.ts': EMPTY },
  },
  {
    rule: 'domain imports no package and no module of Node, except in its tests',
    broken: { 'domain/c-card.ts': "import 'node:fs';\nimport 'pg';\n" },
    says: ['domain/c-card.ts -> fs: domain/ may import no module of Node', 'domain/c-card.ts -> node_modules/pg/'],
    clean: { 'domain/c-card.test.ts': "import 'vitest';\nimport 'fast-check';\nimport 'node:assert';\n" },
  },
  {
    rule: 'types, re-exports and import() count as imports',
    broken: {
      'server/http/d-type.ts': "import type { Row } from '../store/d-row.ts';\nvoid ({} as Row);\n",
      'server/http/d-inline.ts': "import { type Row } from '../store/d-row.ts';\nvoid ({} as Row);\n",
      'server/http/d-export.ts': "export { row } from '../store/d-row.ts';\n",
      'server/http/d-export-type.ts': "export type { Row } from '../store/d-row.ts';\n",
      'server/http/d-all.ts': "export * from '../store/d-row.ts';\n",
      'server/http/d-later.ts': "export const later = import('../store/d-row.ts');\n",
    },
    says: ['all', 'export', 'export-type', 'inline', 'later', 'type'].map(
      (name) => `server/http/d-${name}.ts -> server/store/d-row.ts: server/http/ may import only`,
    ),
    clean: {
      'server/http/d-allowed.ts': "import type { Row } from '../calls/d-row.ts';\nexport type Mine = Row;\n",
      'server/calls/d-row.ts': "export type { Row } from '../store/d-row.ts';\n",
      'server/store/d-row.ts': 'export type Row = string;\nexport const row = 1;\n',
    },
  },
  {
    rule: 'the model of the money rules imports only types from other folders',
    broken: {
      'verification/model/a-rule.ts':
        "import { type Money, NONE } from '../../domain/a-money.ts';\nvoid ({} as Money, NONE);\n",
      'verification/model/a-again.ts': "export { NONE } from '../../domain/a-money.ts';\n",
      'verification/model/a-later.ts': "export const later = import('../../domain/a-money.ts');\n",
      'domain/a-money.ts': 'export type Money = bigint;\nexport const NONE = 0n;\n',
    },
    says: ['again', 'later', 'rule'].map(
      (name) => `verification/model/a-${name}.ts -> domain/a-money.ts: The model imports only types`,
    ),
    clean: {
      'verification/model/b-rule.ts':
        "import type { Money } from '../../domain/b-money.ts';\nimport './b-sum.ts';\nvoid ({} as Money);\n",
      'verification/model/b-sum.ts': EMPTY,
      'domain/b-money.ts': 'export type Money = bigint;\n',
    },
  },
  {
    rule: 'folders on one level do not import each other',
    broken: {
      'server/background/jobs/e-due.ts': "import '../delivery/e-send.ts';\n",
      'server/background/delivery/e-send.ts': EMPTY,
      'cli/e-show.ts': "import '../console/e-page.tsx';\nimport '../tools/e-bootstrap.mjs';\n",
      'console/e-page.tsx': "import type { Row } from '../contract/e-rows.ts';\nvoid ({} as Row);\n",
      'console/e-format.ts': "import 'node:fs';\nimport 'fastify';\n",
      'contract/e-rows.ts': 'export type Row = string;\n',
      'tools/e-bootstrap.mjs': EMPTY,
    },
    says: [
      'cli/e-show.ts -> console/e-page.tsx: cli/ may import only',
      'cli/e-show.ts -> tools/e-bootstrap.mjs: cli/ may import only',
      'console/e-format.ts -> fs: console/ may import no module of Node',
      'console/e-format.ts -> node_modules/fastify/',
      'console/e-page.tsx -> contract/e-rows.ts: console/ may import only sdk/, lucide-preact, preact',
      'server/background/jobs/e-due.ts -> server/background/delivery/e-send.ts: server/background/jobs/ may import only',
    ],
    clean: {
      'cli/f-show.ts': "import '../sdk/f-client.ts';\n",
      'sdk/f-client.ts': EMPTY,
      'console/f-page.tsx': "import 'preact';\nimport '../sdk/f-client.ts';\n",
    },
  },
  {
    rule: 'a subject imports no other subject except the audit log',
    broken: {
      'server/subjects/cards/o-card.ts': "import type { Row } from '../keys/o-key.ts';\nvoid ({} as Row);\n",
      'server/subjects/keys/o-key.ts': 'export type Row = string;\n',
      'server/calls/o-page.ts': "import '../subjects/cards/o-card.ts';\n",
    },
    says: [
      'server/calls/o-page.ts -> server/subjects/cards/o-card.ts: server/calls/ may import only',
      'server/subjects/cards/o-card.ts -> server/subjects/keys/o-key.ts: A subject imports no other subject',
    ],
    clean: {
      'server/subjects/cards/p-card.ts': "import '../audit/p-entry.ts';\nimport '../../calls/p-page.ts';\n",
      'server/subjects/audit/p-entry.ts': EMPTY,
      'server/calls/p-page.ts': EMPTY,
    },
  },
  {
    rule: 'only the start of the service reads its settings',
    broken: {
      'server/http/g-listen.ts':
        "import '../foundation/configuration/configuration.ts';\nimport '../foundation/startup-problem.ts';\n",
      'cli/g-start.ts': "import '../server/foundation/configuration/configuration.ts';\n",
    },
    says: [
      'cli/g-start.ts -> server/foundation/configuration/configuration.ts: cli/ may import only',
      'server/http/g-listen.ts -> server/foundation/configuration/configuration.ts: Only the start',
    ],
    clean: {
      'server/main.ts':
        "import './foundation/configuration/configuration.ts';\nimport './http/h-listen.ts';\nimport './store/h-card.ts';\n",
      'server/foundation/configuration/configuration.ts': "import '../startup-problem.ts';\n",
      'server/foundation/startup-problem.ts': EMPTY,
      'server/http/h-listen.ts': "import '../foundation/startup-problem.ts';\nimport 'find-my-way';\n",
      'server/store/h-card.ts': "import 'pg';\nimport 'node:fs';\n",
    },
  },
  {
    rule: 'only the store imports packages with network clients',
    broken: {
      'server/http/i-call.ts': "import 'find-my-way';\nimport 'undici';\n",
      'server/background/jobs/i-call.ts': "import 'pg';\n",
      'server/host/crash.ts': "import 'undici';\n",
    },
    says: [
      'server/host/crash.ts -> undici: server/host/ may import only',
      'server/http/i-call.ts -> undici: server/http/ may import only',
      'server/background/jobs/i-call.ts -> node_modules/pg/',
    ],
    clean: {
      'server/store/j-call.ts': "import 'pg';\n",
      'server/http/j-call.ts': "import 'find-my-way';\nimport 'node:stream';\n",
    },
  },
  {
    rule: 'every file belongs to a folder of the arrow',
    broken: { 'server/k-money.ts': EMPTY, 'attic/k-box.ts': EMPTY },
    says: ['attic/k-box.ts: it belongs to no folder', 'server/k-money.ts: it belongs to no folder'],
    clean: { 'server/http/l-money.ts': EMPTY, 'bench/l-box.ts': EMPTY },
  },
  {
    rule: 'imports, including type imports, form no cycle',
    broken: {
      'domain/m-a.ts': "import './m-b.ts';\n",
      'domain/m-b.ts': "import type { C } from './m-c.ts';\nvoid (0 as unknown as C);\n",
      'domain/m-c.ts': "\nimport './m-a.ts';\nexport type C = string;\n",
    },
    says: ['domain/m-a.ts -> domain/m-b.ts -> domain/m-c.ts -> domain/m-a.ts: No cycles'],
    clean: {
      'domain/n-a.ts': "import './n-b.ts';\nimport './n-c.ts';\n",
      'domain/n-b.ts': "import './n-c.ts';\n",
      'domain/n-c.ts': EMPTY,
    },
  },
];

// The parts are joined, so that this file does not break the rules that it tests.
const COMMENT = ['/', '/ '].join('');
const POSTPONED = ['TO', 'DO'].join('');
const SILENCE = ['@ts', 'ignore'].join('-');

/** Rules that tools/tidy.ts checks. */
export const tidyExamples: readonly Example[] = [
  {
    rule: 'names say what is inside',
    broken: {
      'domain/utils/money.ts': EMPTY,
      'domain/types.ts': EMPTY,
      'sdk/index.ts': EMPTY,
      'docs/shared/page.md': '',
    },
    says: [
      'docs/shared/page.md:1: "shared"',
      'domain/types.ts:1: "types"',
      'domain/utils/money.ts:1: "utils"',
      'sdk/index.ts:1: "index"',
    ],
    clean: { 'docs/index.html': '', 'domain/card-types.ts': EMPTY, 'docs/library.md': '' },
  },
  {
    rule: 'a folder has at most 30 files',
    broken: Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`server/http/${index}.ts`, EMPTY])),
    says: ['server/http/:1: A folder has at most 30 files; this one has 31.'],
    clean: Object.fromEntries([
      ...Array.from({ length: 60 }, (_, index) => [`server/http/${index % 2}/${index}.ts`, EMPTY]),
      ...Array.from({ length: 40 }, (_, index) => [`server/store/migrations/${index}.sql`, '']),
    ]),
  },
  {
    rule: 'a file of SQL has at most 400 lines',
    broken: { 'server/store/card.sql': lines(401, '-- a') },
    says: ['server/store/card.sql:401: A file has at most 400 lines; this one has 401.'],
    clean: { 'server/store/card.sql': lines(400, '-- a') },
  },
  {
    rule: 'pages are in plain English',
    broken: {
      'docs/a.md': '# A\n\nWhoever pays, pays.\nNobody is told, all the same.\n',
      'README.md': 'Thus it goes on beside the others, to whom it belongs.\n',
      'domain/a.ts': 'const nobody = 1;\n/**\n * Whoever pays, pays.\n */\nexport const a = nobody;\n',
      'domain/a.test.ts': "test('pays besides', () => undefined); // Nobody is told.\n",
    },
    says: [
      'docs/a.md:3: "Whoever" reads as translated. Instead: name the person',
      'docs/a.md:4: "Nobody" reads',
      'docs/a.md:4: "is told" reads',
      'docs/a.md:4: "all the same" reads',
      'domain/a.test.ts:1: "besides" reads',
      'domain/a.test.ts:1: "Nobody" reads',
      'domain/a.test.ts:1: "is told" reads',
      'domain/a.ts:3: "Whoever" reads',
      'README.md:1: "Thus" reads',
      'README.md:1: "beside" reads',
      'README.md:1: "to whom" reads',
    ],
    clean: {
      'docs/b.md': 'The caller pays.\n\n```\nnobody\n```\n\nThe user `nobody` runs it.\n',
      'CHANGELOG.md': 'Nobody is told.\n',
      'domain/b.ts': "// The user `nobody` runs it.\nexport const b = 'nobody';\n",
    },
  },
  {
    rule: 'SQL only in server/store',
    broken: {
      'server/http/a.ts': `export const a = (id: string) => \`\n  select balance from account where id = \${id}\`;\n`,
      'server/http/b.ts': "export const b = 'INSERT INTO posting VALUES ($1)';\n",
      'server/http/c.ts': "export const c = 'with rows as (select 1) delete from a';\n",
      'server/http/d.ts': "export const d = (database: { query(text: string): void }) => database.query('commit');\n",
      'server/http/e.ts': "export const e = 'update transfer set status = $1';\n",
      'server/http/f.ts': "export const f = 'create table card ()';\n",
      'server/http/g.sql': '',
    },
    says: ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts', 'f.ts', 'g.sql'].map(
      (name) => `server/http/${name}:1: SQL belongs in server/store`,
    ),
    clean: {
      'server/store/card.ts': "export const a = 'select 1 from card';\n",
      'server/store/migrations/0001.sql': '',
      'server/http/a.ts': [
        "export const a = 'Select a card from the list';",
        "export const b = 'update the card';",
        "export const c = 'commit';",
        "export const d = 'create a table of contents';",
        "export const e = 'with care';",
        "export const f = 'delete_card';\n",
      ].join('\n'),
    },
  },
  {
    rule: 'comments do not silence the compiler or postpone work',
    broken: {
      'server/http/a.ts': `${COMMENT}${SILENCE}\nvoid 0;\n/* ${SILENCE.replace('ignore', 'expect-error')}: later */\nvoid 0;\n`,
      'server/http/b.ts': `void 0; ${COMMENT}${POSTPONED}: more\n/** ${['FIX', 'ME'].join('')} */\nvoid 0;\n`,
    },
    says: [
      'server/http/a.ts:1: This comment silences the compiler',
      'server/http/a.ts:3: This comment silences the compiler',
      'server/http/b.ts:1: This comment postpones work',
      'server/http/b.ts:2: This comment postpones work',
    ],
    clean: { 'server/http/a.ts': `export const note = '${POSTPONED} ${SILENCE}';\n` },
  },
  {
    rule: 'every export has a doc comment',
    broken: {
      'domain/a.ts': 'export function one(): void {}\n\nexport class Two {}\nexport type Three = string;\n',
      'sdk/b.ts': '// Not a doc comment.\nexport const four = () => 4;\n',
      'contract/c.ts': '/** Too far away. */\n\nexport const five: () => number = async () => 5;\n',
    },
    says: [
      'contract/c.ts:3: five is exported without',
      'domain/a.ts:1: one is exported without',
      'domain/a.ts:3: Two is exported without',
      'domain/a.ts:4: Three is exported without',
      'sdk/b.ts:2: four is exported without',
    ],
    clean: {
      'domain/a.ts': [
        '/** One. */',
        'export function one(value: string): void;',
        'export function one(value: number): void;',
        'export function one(): void {}',
        'export const limit = 3;',
        "export const WORDS = ['one', 'two'] as const;",
        'export type Word = (typeof WORDS)[number];',
        'function own(): void {}',
        'own();\n',
      ].join('\n'),
      'domain/a.test.ts': 'export function one(): void {}\n',
      'server/http/a.ts': 'export function one(): void {}\n',
    },
  },
  {
    rule: 'no text shows the machine where the project was made',
    broken: {
      'docs/a.md': `\nSee ${['', 'work', 'main'].join('/')}.\n`,
      'docs/b.md': `Fetched from https://${['registry', 'npmjs', 'org'].join('.')}/pg\n`,
      '.npmrc': `registry=http://${['npm', 'registry', 'example', 'internal'].join('.')}/\n`,
    },
    says: [
      ".npmrc:1: Don't name a package re",
      'docs/a.md:2: This path exists on one machine',
      "docs/b.md:1: Don't name a package re",
    ],
    clean: { 'docs/a.md': 'About social/work/life, server/work/ and registry.register(metric).\n' },
  },
];
