import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describe as describeViolation, inspect } from '../../setup/tidy/rules.ts';

const tidyProgram = join(import.meta.dirname, '..', '..', 'tidy.ts');

type Files = Readonly<Record<string, string>>;

/** Lays these files out as a project of their own and gives its directory to the function. */
function inProject<Result>(files: Files, look: (root: string) => Result): Result {
  const root = mkdtempSync(join(tmpdir(), 'tidy-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return look(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const tidy = (files: Files) => inProject(files, (root) => inspect(root).violations.map(describeViolation));

type Example = {
  readonly rule: string;
  /** Every file of a project that breaks this rule and no other. */
  readonly broken: Files;
  /** The beginning of each line that tidy prints, in its order. */
  readonly says: readonly string[];
  /** The closest that is still allowed. */
  readonly clean: Files;
};

const lines = (count: number, line: string) => `${line}\n`.repeat(count);
const nested = (count: number) => `export function long(): void {\n${lines(count - 2, '  void 0;')}}\n`;
const emptyModule = 'export {};\n';

const arrowExamples: readonly Example[] = [
  {
    rule: 'domain imports only itself',
    broken: {
      'domain/cards/card.ts': "import { query } from '../../server/store/card.ts';\nvoid query;\n",
      'server/store/card.ts': emptyModule,
    },
    says: ['domain/cards/card.ts:1: domain may import only itself, and server/store/card.ts is in server/store;'],
    clean: { 'domain/cards/card.ts': "import '../ledger/money.ts';\n", 'domain/ledger/money.ts': emptyModule },
  },
  {
    rule: 'domain imports no package and no module of Node, its tests excepted',
    broken: { 'domain/cards/card.ts': "import 'node:fs';\nimport 'pg';\n" },
    says: [
      'domain/cards/card.ts:1: domain imports no package and no module of Node, not "node:fs";',
      'domain/cards/card.ts:2: domain imports no package and no module of Node, not "pg";',
    ],
    clean: { 'domain/card.test.ts': "import 'vitest';\nimport 'fast-check';\nimport 'node:assert';\n" },
  },
  {
    rule: 'a type, a re-export, an import() and an import type all count as imports',
    broken: {
      'server/http/reply.ts': [
        "import type { Row } from '../store/row.ts';",
        "export { row } from '../store/row.ts';",
        "export * from '../store/row.ts';",
        "export const later = import('../store/row.ts');",
        "export type Other = import('../store/row.ts').Row | Row;",
      ].join('\n'),
      'server/store/row.ts': emptyModule,
    },
    says: [1, 2, 3, 4, 5].map((line) => `server/http/reply.ts:${line}: server/http may import only`),
    clean: {
      'server/http/reply.ts': "import type { Row } from '../operations/row.ts';\nexport type Mine = Row;\n",
      'server/operations/row.ts': "export type { Row } from '../store/row.ts';\n",
      'server/store/row.ts': 'export type Row = string;\n',
    },
  },
  {
    rule: 'an import says what it imports',
    broken: { 'server/http/load.ts': "export const load = (name: string) => import('../store/' + name);\n" },
    says: ['server/http/load.ts:1: the arrow cannot be checked for an import whose name is computed;'],
    clean: { 'test/api/load.ts': 'export const load = (name: string) => import(name);\n' },
  },
  {
    rule: 'rooms on one level never import each other',
    broken: {
      'server/jobs/due.ts': "import '../delivery/send.ts';\n",
      'server/delivery/send.ts': emptyModule,
      'cli/show.ts': "import '../console/page.tsx';\n",
      'console/page.tsx': emptyModule,
    },
    says: ['cli/show.ts:1: cli may import only sdk, contract', 'server/jobs/due.ts:1: server/jobs may import only'],
    clean: { 'cli/show.ts': "import '../sdk/client.ts';\n", 'sdk/client.ts': emptyModule },
  },
  {
    rule: 'only main.ts imports the configuration',
    broken: {
      'server/http/listen.ts': "import '../config.ts';\nimport '../startup-problem.ts';\n",
      'cli/start.ts': "import '../server/config.ts';\n",
      'server/config.ts': emptyModule,
      'server/startup-problem.ts': emptyModule,
    },
    says: ['cli/start.ts:1: cli may import only', 'server/http/listen.ts:1: server/http may import only'],
    clean: {
      'server/main.ts': "import './config.ts';\nimport './http/listen.ts';\nimport './store/card.ts';\n",
      'server/config.ts': "import './startup-problem.ts';\nimport 'typebox';\n",
      'server/startup-problem.ts': emptyModule,
      'server/http/listen.ts': "import '../startup-problem.ts';\nimport 'fastify';\n",
      'server/store/card.ts': "import 'pg';\nimport 'node:fs';\n",
    },
  },
  {
    rule: 'an exception to the arrow is good for one file',
    broken: {
      'cli/other.mjs': "import '../setup/bootstrap.mjs';\n",
      'setup/bootstrap.mjs': emptyModule,
    },
    says: ['cli/other.mjs:1: cli may import only sdk, contract, domain, and setup/bootstrap.mjs is in setup;'],
    clean: {
      'cli/transfer-service.mjs': "import '../setup/bootstrap.mjs';\n",
      'setup/bootstrap.mjs': emptyModule,
    },
  },
  {
    rule: 'every file stands in a room',
    broken: { 'server/money.ts': emptyModule, 'attic/box.ts': emptyModule },
    says: ['attic/box.ts:1: this file stands in no room;', 'server/money.ts:1: this file stands in no room;'],
    clean: { 'server/http/money.ts': emptyModule, 'bench/box.ts': emptyModule },
  },
  {
    rule: 'no circle of imports',
    broken: {
      'domain/a.ts': "import './b.ts';\n",
      'domain/b.ts': "import type { C } from './c.ts';\nvoid (0 as unknown as C);\n",
      'domain/c.ts': "\nimport './a.ts';\n",
    },
    says: ['domain/c.ts:2: this import closes a circle: domain/a.ts -> domain/b.ts -> domain/c.ts -> domain/a.ts;'],
    clean: {
      'domain/a.ts': "import './b.ts';\nimport './c.ts';\n",
      'domain/b.ts': "import './c.ts';\n",
      'domain/c.ts': emptyModule,
    },
  },
];

const nameAndSizeExamples: readonly Example[] = [
  {
    rule: 'no drawers',
    broken: {
      'domain/utils/money.ts': emptyModule,
      'domain/types.ts': emptyModule,
      'sdk/index.ts': emptyModule,
      'docs/shared/page.md': '',
    },
    says: [
      'docs/shared/page.md:1: "shared" names a drawer',
      'domain/types.ts:1: "types" names a drawer',
      'domain/utils/money.ts:1: "utils" names a drawer',
      'sdk/index.ts:1: "index" names a drawer',
    ],
    clean: { 'docs/index.html': '', 'domain/card-types.ts': emptyModule, 'docs/library.md': '' },
  },
  {
    rule: 'a file has at most 400 lines, one of tests 600',
    broken: {
      'domain/cards/card.ts': lines(401, '// a'),
      'server/store/card.sql': lines(401, '-- a'),
      'test/api/card.test.ts': lines(601, '// a'),
    },
    says: [
      'domain/cards/card.ts:401: this file has 401 lines, and 400 are the most',
      'server/store/card.sql:401: this file has 401 lines, and 400 are the most',
      'test/api/card.test.ts:601: this file has 601 lines, and 600 are the most',
    ],
    clean: {
      'domain/cards/card.ts': lines(400, '// a'),
      'test/api/card.test.ts': lines(600, '// a'),
      'contract/operations.ts': `// Generated by setup/generate.ts\n${lines(500, '// a')}`,
      'docs/errors.md': lines(900, 'a'),
    },
  },
  {
    rule: 'a function has at most 70 lines',
    broken: {
      'server/http/long.ts': nested(71),
      'server/http/arrow.ts': `\nexport const long = () => {\n${lines(69, '  void 0;')}};\n`,
      'server/http/class.ts': `export class Long {\n  method() {\n${lines(69, '    void 0;')}  }\n}\n`,
    },
    says: [
      'server/http/arrow.ts:2: this function has 71 lines, and 70 are the most',
      'server/http/class.ts:2: this function has 71 lines, and 70 are the most',
      'server/http/long.ts:1: this function has 71 lines, and 70 are the most',
    ],
    clean: {
      'server/http/long.ts': nested(70),
      'test/api/card.test.ts': `describe.each([1])('cards', () => {\n${lines(100, '  void 0;')}});\n`,
    },
  },
];

const placeExamples: readonly Example[] = [
  {
    rule: 'the environment is read in one place',
    broken: {
      'server/http/a.ts': 'export const a = process.env.PORT;\n',
      'server/http/b.ts': "export const b = process['env'];\n",
      'server/http/c.ts': 'const { env } = process;\nvoid env;\n',
      'server/http/d.ts': "import { env } from 'node:process';\nvoid env;\n",
      'cli/main.ts': 'export const a = process.env;\n',
    },
    says: ['cli/main.ts', 'server/http/a.ts', 'server/http/b.ts', 'server/http/c.ts', 'server/http/d.ts'].map(
      (file) => `${file}:1: the environment is read in server/config.ts`,
    ),
    clean: {
      'server/config.ts': 'export const a = process.env;\n',
      'cli/environment.ts': 'export const a = process.env;\n',
      'test/api/start.ts': 'export const a = process.env;\n',
      'server/http/a.ts': "// process.env\nexport const a = 'process.env';\nexport const { pid } = process;\n",
    },
  },
  {
    rule: 'SQL stands in one place',
    broken: {
      'server/http/a.ts': `export const a = (id: string) => \`\\n  select balance from account where id = \${id}\`;\n`,
      'server/http/b.ts': "export const b = 'INSERT INTO posting VALUES ($1)';\n",
      'server/http/c.ts': "export const c = 'with rows as (select 1) delete from a';\n",
      'server/http/d.ts': "export const d = (door: { query(text: string): void }) => door.query('commit');\n",
      'server/http/e.ts': "export const e = 'update transfer set status = $1';\n",
      'server/http/f.ts': "export const f = 'create table card ()';\n",
      'server/http/g.sql': '',
    },
    says: [
      ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `server/http/${name}.ts:1: SQL stands in server/store`),
      'server/http/g.sql:1: SQL files stand in server/store;',
    ],
    clean: {
      'server/store/card.ts': "export const a = 'select 1 from card';\n",
      'server/store/migrations/0001.sql': '',
      'server/http/a.ts': [
        "export const a = 'Select a card from the list';",
        "export const b = 'update the card';",
        "export const c = 'commit';",
        "export const d = 'create a table of contents';",
        "export const e = 'with care';",
        "export const f = 'delete_card';",
      ].join('\n'),
    },
  },
  {
    rule: 'the service has nothing to call others with',
    broken: {
      'server/operations/a.ts': [
        "import { request } from 'node:http';",
        "import { get as read } from 'node:https';",
        "import * as sockets from 'node:net';",
        "import tls from 'node:tls';",
        "import type { Socket } from 'node:net';",
        "export * from 'node:http2';",
        "export { createSocket } from 'node:dgram';",
        "export const later = import('node:dns/promises');",
        'void [request, read, sockets, tls, {} as Socket];',
      ].join('\n'),
      'server/http/b.ts':
        "import { createServer, request as call, STATUS_CODES } from 'node:http';\nvoid [createServer, call, STATUS_CODES];\n",
      'server/store/c.ts': "import { createServer, isIP } from 'node:net';\nvoid [createServer, isIP];\n",
      'server/operations/d.ts': [
        "export const a = fetch('http://a.test');",
        "export const b = globalThis.fetch('http://a.test');",
        "export const c = new WebSocket('ws://a.test');",
        'const { fetch } = globalThis;',
        'const { EventSource: Events } = globalThis;',
        "export const d = [fetch, Events, globalThis['WebSocket']];",
        'export const e = { fetch };',
      ].join('\n'),
      'contract/e.ts': 'void fetch;\n',
    },
    says: [
      'contract/e.ts:1: the service calls nobody, and with `fetch` it could;',
      'server/http/b.ts:1: the service calls nobody, and with `request` of "node:http" it could;',
      'server/operations/a.ts:1: the service calls nobody, and with `request` of "node:http" it could;',
      'server/operations/a.ts:2: the service calls nobody, and with `get` of "node:https" it could;',
      'server/operations/a.ts:3: the service calls nobody, and with all of "node:net" it could;',
      'server/operations/a.ts:4: the service calls nobody, and with all of "node:tls" it could;',
      'server/operations/a.ts:6: the service calls nobody, and with all of "node:http2" it could;',
      'server/operations/a.ts:7: the service calls nobody, and with all of "node:dgram" it could;',
      'server/operations/a.ts:8: the service calls nobody, and with all of "node:dns/promises" it could;',
      ...['fetch', 'fetch', 'WebSocket', 'fetch', 'EventSource', 'fetch'].map(
        (name, index) =>
          `server/operations/d.ts:${index + 1}: the service calls nobody, and with \`${name}\` it could;`,
      ),
      'server/operations/d.ts:6: the service calls nobody, and with `WebSocket` it could;',
      'server/operations/d.ts:7: the service calls nobody, and with `fetch` it could;',
      'server/store/c.ts:1: the service calls nobody, and with `createServer` of "node:net" it could;',
    ],
    clean: {
      'server/http/b.ts':
        "import { createServer, type ClientRequest, STATUS_CODES } from 'node:http';\nvoid [createServer, STATUS_CODES, {} as ClientRequest];\n",
      'server/store/c.ts': "import { isIP } from 'node:net';\nimport 'pg';\nvoid isIP;\n",
      'server/operations/d.ts': [
        "import type { Socket } from 'node:net';",
        'export const a = (pages: { fetch(): void; socket: Socket }) => pages.fetch();',
        "export const b = { fetch: 'fetch' };",
      ].join('\n'),
      'sdk/send.ts': "void fetch('http://a.test');\n",
      'cli/call.ts': "import 'node:http';\nvoid globalThis.fetch;\n",
      'test/api/call.ts': "import { request } from 'node:http';\nvoid [request, WebSocket];\n",
    },
  },
  {
    rule: 'only the store has a client of a network among its packages',
    broken: {
      'server/http/a.ts': "import 'fastify';\nimport 'undici';\nimport 'net';\n",
      'server/jobs/b.ts': "import 'pg';\n",
      'server/main.ts': "import 'undici';\n",
    },
    says: [
      'server/http/a.ts:2: server/http imports only fastify, node:, not "undici";',
      'server/http/a.ts:3: server/http imports only fastify, node:, not "net";',
      'server/jobs/b.ts:1: server/jobs imports only node:, not "pg";',
      'server/main.ts:1: server/main.ts imports only pino, node:, not "undici";',
    ],
    clean: { 'server/store/a.ts': "import 'pg';\n", 'server/http/a.ts': "import 'fastify';\nimport 'node:stream';\n" },
  },
  {
    rule: 'the domain neither counts in fractions nor asks the world',
    broken: {
      'domain/fee.ts': [
        "const a = Number('1');",
        "const b = parseInt('1', 10);",
        "const c = Number.parseFloat('1');",
        'const d = Math.round(1);',
        'const e = Date.now();',
        'const f = new Date();',
        'const g = crypto.randomUUID();',
        "const h = ['1'].map(Number);",
        'void [a, b, c, d, e, f, g, h];',
      ].join('\n'),
      'domain/ledger/money.ts': 'void Math.random();\n',
    },
    says: [
      ...['Number', 'parseInt', 'Number.parseFloat', 'Math.round', 'Date.now', 'new Date()', 'crypto', 'Number'].map(
        (what, index) => `domain/fee.ts:${index + 1}: \`${what}\` has no place in domain/: `,
      ),
      'domain/ledger/money.ts:1: `Math.random` has no place in domain/: ids and randomness come in as arguments.',
    ],
    clean: {
      'domain/ledger/money.ts': 'void [Math.abs(1), Number(1n), parseInt("1", 10)];\n',
      'domain/fee.ts': [
        'const a = new Date(0);',
        'const b = { process: 1, Number: 2 };',
        'const c = Number.isSafeInteger(1);',
        'void [a, b.process, b.Number, c];',
      ].join('\n'),
      'domain/fee.test.ts': 'void [Number(1n), Date.now()];\n',
    },
  },
];

const wordExamples: readonly Example[] = [
  {
    rule: 'no any',
    broken: { 'server/http/a.ts': '\nexport const a: Array<any> = [];\n' },
    says: ['server/http/a.ts:2: `any` switches the checks off'],
    clean: { 'server/http/a.ts': "export const any: unknown = 'any';\n" },
  },
  {
    rule: 'comments neither silence the compiler nor put work off',
    broken: {
      'server/http/a.ts': '// @ts-ignore\nvoid 0;\n/* @ts-expect-error: later */\nvoid 0;\n',
      'server/http/b.ts': 'void 0; // TODO: more\n/** FIXME */\nvoid 0;\n',
    },
    says: [
      'server/http/a.ts:1: this comment silences the compiler;',
      'server/http/a.ts:3: this comment silences the compiler;',
      'server/http/b.ts:1: this comment puts work off;',
      'server/http/b.ts:2: this comment puts work off;',
    ],
    clean: { 'server/http/a.ts': "export const note = '// TODO @ts-ignore';\n" },
  },
  {
    rule: 'no test is left out',
    broken: {
      'test/api/a.test.ts': [
        "it.only('a', () => {});",
        "describe.skip('b', () => {});",
        "test.todo('c');",
        "it.skip.each([1])('d', () => {});",
        "it.concurrent.skipIf(true)('e', () => {});",
      ].join('\n'),
    },
    says: ['only', 'skip', 'todo', 'skip', 'skipIf'].map(
      (name, index) => `test/api/a.test.ts:${index + 1}: \`.${name}\` leaves tests out;`,
    ),
    clean: { 'test/api/a.test.ts': "it.each([1])('a', () => {});\nreader.skip(3);\n" },
  },
  {
    rule: 'what is public has a doc comment',
    broken: {
      'domain/a.ts': 'export function one(): void {}\n\nexport class Two {}\nexport type Three = string;\n',
      'sdk/b.ts': '// Not a doc comment.\nexport const four = () => 4;\n',
      'contract/c.ts': '/** Too far away. */\n\nconst five = () => 5;\nexport { five };\n',
    },
    says: [
      'contract/c.ts:3: five is public and has no doc comment;',
      'domain/a.ts:1: one is public and has no doc comment;',
      'domain/a.ts:3: Two is public and has no doc comment;',
      'domain/a.ts:4: Three is public and has no doc comment;',
      'sdk/b.ts:2: four is public and has no doc comment;',
    ],
    clean: {
      'domain/a.ts': [
        '/** One. */',
        'export function one(value: string): void;',
        'export function one(value: number): void;',
        'export function one(): void {}',
        'export const limit = 3;',
        'function own(): void {}',
        'own();',
      ].join('\n'),
      'domain/a.test.ts': 'export function one(): void {}\n',
      'server/http/a.ts': 'export function one(): void {}\n',
    },
  },
  {
    rule: 'generated files agree with their source',
    broken: { 'setup/generate.ts': "console.error('openapi.json is old');\nprocess.exit(1);\n" },
    says: [
      'contract/openapi.json:1: this differs from what setup/generate.ts writes; run `npm run generate` and commit the result. It said: openapi.json is old',
    ],
    clean: { 'setup/generate.ts': "process.exit(process.argv[2] === '--check' ? 0 : 1);\n" },
  },
  {
    rule: 'nothing tells where the project was made',
    broken: {
      // Joined here, so that this file does not break the rule that it tests.
      'docs/a.md': `\nSee ${['', 'work', 'main'].join('/')}.\n`,
      'docs/b.md': `Fetched from https://${['registry', 'npmjs', 'org'].join('.')}/pg\n`,
      '.npmrc': `registry=http://${['npm', 'registry', 'example', 'internal'].join('.')}/\n`,
    },
    says: [
      '.npmrc:1: this names a package registry;',
      'docs/a.md:2: this path exists on one machine only;',
      'docs/b.md:1: this names a package registry;',
    ],
    clean: { 'docs/a.md': 'About social/work/life, server/work/ and registry.register(metric).\n' },
  },
  {
    rule: 'code that cannot be parsed is not passed over',
    broken: { 'domain/a.ts': "\nconst a = 'open\n" },
    says: ["domain/a.ts:2: this can't be parsed"],
    clean: { 'domain/a.ts': "const a = '😀';\nvoid a;\n" },
  },
];

describe.each([...arrowExamples, ...nameAndSizeExamples, ...placeExamples, ...wordExamples])(
  '$rule',
  ({ broken, says, clean }) => {
    it('says what is wrong, and where', () => {
      expect(tidy(broken).map((line, index) => line.slice(0, says[index]?.length))).toEqual(says);
    });

    it('lets the closest clean file pass', () => {
      expect(tidy(clean)).toEqual([]);
    });
  },
);

describe('the program', () => {
  const run = (files: Files) =>
    inProject(files, (root) => spawnSync(process.execPath, [tidyProgram, root], { encoding: 'utf8' }));

  it('prints one line for each thing to mend, a summary last, and fails', () => {
    const { status, stdout } = run({ 'domain/a.ts': 'export type A = any;\n' });
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^domain\/a\.ts:1: `any` switches/),
      expect.stringMatching(/^domain\/a\.ts:1: A is public/),
      expect.stringMatching(/^2 to mend \(/),
    ]);
    expect(status).toBe(1);
  });

  it('prints one line when there is nothing to mend', () => {
    const { status, stdout } = run({ 'domain/a.ts': emptyModule });
    expect(stdout).toMatch(/^Nothing to mend: .*\.\n$/);
    expect(status).toBe(0);
  });
});
