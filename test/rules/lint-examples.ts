import type { Example } from './examples.ts';

const lines = (count: number, line: string) => `${line}\n`.repeat(count);
const longFunction = (count: number) => `export function long(): void {\n${lines(count - 2, '  void 0;')}}\n`;
const EMPTY = 'export {};\n';

/** Rules that Biome checks: its own, and the plugins in tools/lint. */
export const lintExamples: readonly Example[] = [
  {
    rule: 'a file has at most 600 lines',
    broken: { 'domain/cards/long.ts': lines(601, 'void 0;') },
    says: ['domain/cards/long.ts:1: lint/style/noExcessiveLinesPerFile'],
    clean: { 'domain/cards/full.ts': lines(600, 'void 0;') },
  },
  {
    rule: 'a function has at most 70 lines',
    broken: {
      'server/http/long-function.ts': longFunction(71),
      'server/http/long-arrow.ts': `\nexport const long = () => {\n${lines(69, '  void 0;')}};\n`,
      'server/http/long-method.ts': `export class Long {\n  method() {\n${lines(69, '    void 0;')}  }\n}\n`,
      'test/api/long-function.test.ts': longFunction(71),
      'test/api/long-case.test.ts': `it('a', () => {\n${lines(69, '  void 0;')}});\n`,
      'test/api/long-each.test.ts': `test.each([1])('a', () => {\n${lines(69, '  void 0;')}});\n`,
    },
    says: [
      'server/http/long-arrow.ts:2: lint/complexity/noExcessiveLinesPerFunction',
      'server/http/long-function.ts:1: lint/complexity/noExcessiveLinesPerFunction',
      'server/http/long-method.ts:2: lint/complexity/noExcessiveLinesPerFunction',
      'test/api/long-case.test.ts:1: A function has at most 70 lines',
      'test/api/long-each.test.ts:1: A function has at most 70 lines',
      'test/api/long-function.test.ts:1: A function has at most 70 lines',
    ],
    clean: {
      'server/http/full-function.ts': longFunction(70),
      'test/api/full-function.test.ts': longFunction(70),
      'test/api/long-describe.test.ts': `describe.each([1])('cards', () => {\n${lines(100, '  void 0;')}});\n`,
    },
  },
  {
    rule: 'a file is named in kebab case',
    broken: { 'server/http/cardNumber.ts': EMPTY },
    says: ['server/http/cardNumber.ts:1: lint/style/useFilenamingConvention'],
    clean: { 'server/http/card-number.ts': EMPTY },
  },
  {
    rule: 'the environment is read in one place',
    broken: {
      'server/http/env-a.ts': 'export const a = process.env.PORT;\n',
      'server/http/env-b.ts': "export const b = process['env'];\n",
      'server/http/env-c.ts': 'const { env } = process;\nvoid env;\n',
      'server/http/env-d.ts': "import { env } from 'node:process';\nvoid env;\n",
      'cli/env.ts': 'export const a = process.env;\n',
    },
    says: [
      'cli/env.ts:1: lint/style/noProcessEnv',
      'server/http/env-a.ts:1: lint/style/noProcessEnv',
      'server/http/env-b.ts:1: lint/style/noProcessEnv',
      'server/http/env-c.ts:1: The environment is read in server/foundation/configuration/configuration.ts',
      'server/http/env-d.ts:1: lint/style/noRestrictedImports',
    ],
    clean: {
      'server/foundation/configuration/configuration.ts': 'export const a = process.env;\n',
      'cli/environment.ts': 'export const a = process.env;\n',
      'test/api/env.ts': 'const { env } = process;\nexport const a = [env, process.env];\n',
      'server/http/env-e.ts': "// process.env\nexport const a = 'process.env';\nexport const { pid } = process;\n",
    },
  },
  {
    rule: 'only one file locates the files of an installation',
    broken: {
      'server/http/place.ts': "export const a = new URL('page.html', import.meta.url);\n",
      'cli/place.ts': 'export const a = import.meta.dirname;\n',
    },
    says: ['cli/place.ts:1: A bundled module has no path', 'server/http/place.ts:1: A bundled module has no path'],
    clean: {
      'installation.mjs': 'export const a = import.meta.url;\n',
      'server/http/place.test.ts': 'export const a = import.meta.dirname;\n',
    },
  },
  {
    rule: 'only one file of the service can call other hosts',
    broken: {
      'server/calls/call-a.ts': [
        "import { request } from 'node:http';",
        "import { get as read } from 'node:https';",
        "import * as sockets from 'node:net';",
        "import tls from 'node:tls';",
        "import type { Socket } from 'node:net';",
        "export * from 'node:http2';",
        "export { createSocket } from 'node:dgram';",
        "export const later = import('node:dns/promises');",
        'void [request, read, sockets, tls, {} as Socket];\n',
      ].join('\n'),
      'server/http/call-b.ts':
        "import { createServer, request as call, STATUS_CODES } from 'node:http';\nvoid [createServer, call, STATUS_CODES];\n",
      'server/store/call-c.ts': "import { createServer, isIP } from 'node:net';\nvoid [createServer, isIP];\n",
      'server/calls/call-d.ts': [
        "export const a = fetch('http://a.test');",
        "export const b = globalThis.fetch('http://a.test');",
        "export const c = new WebSocket('ws://a.test');",
        'const { fetch: f } = globalThis;',
        'const { EventSource: Events } = globalThis;',
        "export const d = [f, Events, globalThis['WebSocket']];\n",
      ].join('\n'),
      'server/calls/call-e.ts': 'export const e = { fetch };\n',
      'server/background/delivery/call-h.ts':
        "import { Resolver } from 'node:dns/promises';\nimport { request } from 'node:https';\nvoid [Resolver, request];\n",
      'server/background/jobs/send.ts': "import { connect } from 'node:net';\nvoid connect;\n",
      'server/host/start/call-i.ts': [
        "import type { Tracer } from '@opentelemetry/api';",
        "export const later = import('@opentelemetry/sdk-trace');",
        'void ({} as Tracer);\n',
      ].join('\n'),
      'contract/call-f.ts': 'void fetch;\n',
      'contract/call-g.ts': "import { get } from 'http';\nvoid get;\n",
    },
    says: [
      'contract/call-f.ts:1: lint/style/noRestrictedGlobals',
      'contract/call-g.ts:1: lint/style/useNodejsImportProtocol',
      'server/background/delivery/call-h.ts:1: Only server/background/outbound/send.ts calls other hosts',
      'server/background/delivery/call-h.ts:2: Only server/background/outbound/send.ts calls other hosts',
      'server/http/call-b.ts:1: Only server/background/outbound/send.ts calls other hosts',
      ...[1, 2, 3, 4, 6, 7, 8].map(
        (line) => `server/calls/call-a.ts:${line}: Only server/background/outbound/send.ts calls other hosts`,
      ),
      'server/background/jobs/send.ts:1: Only server/background/outbound/send.ts calls other hosts',
      'server/calls/call-d.ts:1: lint/style/noRestrictedGlobals',
      'server/calls/call-d.ts:2: Only server/background/outbound/send.ts calls other hosts',
      'server/calls/call-d.ts:3: lint/style/noRestrictedGlobals',
      'server/calls/call-d.ts:4: Only server/background/outbound/send.ts calls other hosts',
      'server/calls/call-d.ts:5: Only server/background/outbound/send.ts calls other hosts',
      'server/calls/call-d.ts:6: Only server/background/outbound/send.ts calls other hosts',
      'server/calls/call-e.ts:1: lint/style/noRestrictedGlobals',
      'server/host/start/call-i.ts:1: Only server/observe/traces/ imports the SDK of OpenTelemetry',
      'server/host/start/call-i.ts:2: Only server/observe/traces/ imports the SDK of OpenTelemetry',
      'server/store/call-c.ts:1: Only server/background/outbound/send.ts calls other hosts',
    ],
    clean: {
      'server/http/called-b.ts':
        "import { type ClientRequest, createServer, STATUS_CODES } from 'node:http';\nvoid [createServer, STATUS_CODES, {} as ClientRequest];\n",
      'server/background/outbound/send.ts':
        "import { Agent, request } from 'node:http';\nimport { connect } from 'node:tls';\nvoid [Agent, request, connect];\n",
      'server/observe/traces/called-t.ts': "import '@opentelemetry/sdk-trace';\n",
      'server/store/called-c.ts': "import { isIP } from 'node:net';\nimport 'pg';\nvoid isIP;\n",
      'server/calls/called-d.ts': [
        "import type { Socket } from 'node:net';",
        'export const a = (pages: { fetch(): void; socket: Socket }) => pages.fetch();',
        "export const b = { fetch: 'fetch' };\n",
      ].join('\n'),
      'sdk/call.ts': "void fetch('http://a.test');\n",
      'cli/call.ts': "import 'node:http';\nvoid globalThis.fetch;\n",
      'test/api/call.ts': "import { request } from 'node:http';\nvoid [request, WebSocket];\n",
    },
  },
  {
    rule: 'the domain uses no fractions and does not read the time',
    broken: {
      'domain/impure.ts': [
        "const a = Number('1');",
        "const b = parseInt('1', 10);",
        "const c = Number.parseFloat('1');",
        'const d = Math.round(1);',
        'const e = Date.now();',
        'const f = new Date();',
        'const g = crypto.randomUUID();',
        "const h = ['1'].map(Number);",
        'const i = process.pid + performance.now();',
        'setTimeout(() => {}, 1);',
        'void [a, b, c, d, e, f, g, h, i];\n',
      ].join('\n'),
      'domain/ledger/money.ts': 'void Math.random();\nvoid [Math.abs(1), Number(1n), Number.parseInt("1", 10)];\n',
    },
    says: [
      ...[1, 2, 3, 4, 8].map((line) => `domain/impure.ts:${line}: Money is counted in whole minor units`),
      ...[5, 6, 7, 9, 9, 10].map((line) => `domain/impure.ts:${line}: The domain decides from its arguments`),
      'domain/ledger/money.ts:1: The domain decides from its arguments',
    ],
    clean: {
      'domain/pure.ts': [
        'const a = new Date(0);',
        'const b = { process: 1, Number: 2 };',
        'const c = Number.isSafeInteger(1);',
        'void [a, b.process, b.Number, c];\n',
      ].join('\n'),
      'domain/pure.test.ts': 'void [Number(1n), Date.now()];\n',
    },
  },
  {
    rule: 'JSON is read by parseJson',
    broken: {
      'server/calls/read-json.ts': [
        "export const a = JSON.parse('1');",
        'export const b = [].map(JSON.parse);',
        "export const c = JSON['parse']('1');",
        'export const { parse } = JSON;\n',
      ].join('\n'),
      'sdk/read-json.ts': 'export const d = (response: Response) => response.json();\n',
    },
    says: [
      'sdk/read-json.ts:1: Read JSON with parseJson',
      ...[1, 2, 3, 4].map((line) => `server/calls/read-json.ts:${line}: Read JSON with parseJson`),
    ],
    clean: {
      'server/calls/written-json.ts': "export const a = JSON.stringify({ json: 'JSON.parse' });\n",
      'server/calls/read-json.test.ts': "void JSON.parse('1');\n",
      'contract/constant.ts': "void JSON.parse('1');\n",
    },
  },
  {
    rule: 'an import names its module as a literal',
    broken: {
      'server/http/load.ts': "export const load = (name: string) => import('../store/' + name);\n",
      'server/http/load-template.ts': `export const load = (name: string) => import(\`../store/\${name}\`);\n`,
      'server/http/load-type.ts': "export type Row = import('../store/row.ts').Row;\n",
    },
    says: [
      'server/http/load-template.ts:1: Name the imported module as a literal',
      'server/http/load-type.ts:1: Import the type at the top of the file',
      'server/http/load.ts:1: Name the imported module as a literal',
    ],
    clean: {
      'server/http/load-literal.ts': "export const load = () => import('../pages/page.ts');\n",
      'test/api/load.ts': 'export const load = (name: string) => import(name);\n',
    },
  },
  {
    rule: 'no any',
    broken: { 'server/http/any.ts': '\nexport const a: Array<any> = [];\n' },
    says: ['server/http/any.ts:2: lint/suspicious/noExplicitAny'],
    clean: { 'server/http/no-any.ts': "export const any: unknown = 'any';\n" },
  },
  {
    rule: 'inherited members are not found by external names',
    broken: { 'domain/member.ts': 'export const has = (table: object, name: string) => name in table;\n' },
    says: ['domain/member.ts:1: `in` finds inherited members'],
    clean: {
      'domain/own-member.ts': "export const has = (table: object) => 'name' in table;\n",
      'test/api/member.ts': 'export const has = (table: object, name: string) => name in table;\n',
    },
  },
  {
    rule: 'no test is left out',
    broken: {
      'test/api/left-out.test.ts': [
        "it.only('a', () => {});",
        "describe.skip('b', () => {});",
        "test.todo('c');",
        "it.skip.each([1])('d', () => {});",
        "it.concurrent.skipIf(true)('e', () => {});",
        "it.runIf(true)('f', () => {});\n",
      ].join('\n'),
    },
    says: [
      ...[1, 2, 3, 4, 5, 6].map((line) => `test/api/left-out.test.ts:${line}: Every test runs, every time`),
      'test/api/left-out.test.ts:1: lint/suspicious/noFocusedTests',
      'test/api/left-out.test.ts:2: lint/suspicious/noSkippedTests',
    ],
    clean: { 'test/api/complete.test.ts': "it.each([1])('a', () => {});\nreader.skip(3);\n" },
  },
  {
    rule: 'no test expects the machine to be fast',
    broken: {
      'test/api/fast.test.ts': "it('a', () => {\n  expect(performance.now() - began).toBeLessThan(5_000);\n});\n",
    },
    says: ['test/api/fast.test.ts:2: No test may fail on a slow machine'],
    clean: {
      'test/api/slow.test.ts': "it('a', () => {\n  expect(performance.now() - began).toBeGreaterThan(900);\n});\n",
    },
  },
  {
    rule: 'a file that cannot be parsed is reported',
    broken: { 'domain/open.ts': "\nconst a = 'open\n" },
    says: ['domain/open.ts:2: parse'],
    clean: { 'domain/closed.ts': "const a = '😀';\nvoid a;\n" },
  },
];
