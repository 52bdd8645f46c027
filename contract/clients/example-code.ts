import type { TObject } from 'typebox';
import { exampleOf, examplePath } from '../examples.ts';
import { parametersOf } from '../operation.ts';
import { OPERATIONS, type OperationId } from '../operations.ts';
import { sampleOf, sampleOfParameter } from '../samples.ts';
import { isOfClients, METHODS } from './sdk-methods.ts';

// Invariant: Every example of the API reference runs as shown, in curl, TypeScript, Python and Go
// Kept by: `contract/examples.ts`, `contract/clients/example-code.ts`
// Tested by: `test/pages/example-programs.test.ts`, `test/pages/go-programs.test.ts`

/** The service that the code of an example calls. */
export type CodePlace = {
  /** Address of the service, such as http://localhost:8080. */
  readonly base: string;
  /** Whether it accepts only requests with a key. */
  readonly needsKey: boolean;
};

/** Maximum number of characters of a pair of brackets and its content on one line. */
const MAX_LINE = 60;

type Language = {
  readonly text: (value: string) => string;
  readonly name: (name: string) => string;
  readonly null: string;
  readonly true: string;
  readonly false: string;
  /** The space between braces and their content in one line. */
  readonly gap: string;
  readonly indent: string;
};

const inPython = (value: string): string => JSON.stringify(value);
const inScript = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const PYTHON: Language = {
  text: inPython,
  name: inPython,
  null: 'None',
  true: 'True',
  false: 'False',
  gap: '',
  indent: '    ',
};
const SCRIPT: Language = {
  text: inScript,
  name: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : inScript(name)),
  null: 'null',
  true: 'true',
  false: 'false',
  gap: ' ',
  indent: '  ',
};

/** The example of an operation as a program in Python, with `requests`. */
export function pythonOf(id: OperationId, { base, needsKey }: CodePlace): string {
  const { method, csv } = OPERATIONS[id];
  const { headers, body } = exampleOf(id);
  const query = queryOf(id);
  const key = needsKey ? [`"Authorization": f"Bearer {os.environ['TRANSFER_SERVICE_KEY']}"`] : [];
  const sent = [...key, ...Object.entries(headers).map(([name, value]) => `${inPython(name)}: ${inPython(value)}`)];
  const parts = [
    inPython(base + examplePath(id)),
    ...(sent.length === 0 ? [] : [`headers=${wrapped(PYTHON, '{}', sent, 1)}`]),
    ...(query === undefined ? [] : [`params=${literal(PYTHON, query, 1)}`]),
    ...(body === undefined ? [] : [`json=${literal(PYTHON, JSON.parse(body), 1)}`]),
    'timeout=30',
  ];
  return `${needsKey ? 'import os\n' : ''}import requests

response = requests.${method.toLowerCase()}${wrapped(PYTHON, '()', parts, 0)}
response.raise_for_status()
print(response.${csv ? 'text' : 'json()'})`;
}

/** The example of an operation as a program in TypeScript, with the SDK. */
export function typescriptOf(id: OperationId, { base, needsKey }: CodePlace): string {
  const { path, query: schema, body: bodySchema, csv } = OPERATIONS[id];
  const { headers, body } = exampleOf(id);
  if (!isOfClients(id)) return signedInScript(base + examplePath(id), JSON.parse(body ?? '{}'));
  const query = queryOf(id);
  const key = headers['Idempotency-Key'];
  const parts = [
    ...parametersOf(path).map((name) => inScript(sampleOfParameter(name))),
    ...(bodySchema === undefined || body === undefined
      ? []
      : [literal(SCRIPT, onlyRows(bodySchema, JSON.parse(body)), 1)]),
    ...(schema === undefined || (query === undefined && key === undefined) ? [] : [literal(SCRIPT, query ?? {}, 1)]),
    ...(key === undefined ? [] : [literal(SCRIPT, { idempotencyKey: key }, 1)]),
  ];
  const settings = [`baseUrl: ${inScript(base)}`, ...(needsKey ? ['key: process.env.TRANSFER_SERVICE_KEY'] : [])];
  const call = `await service.${METHODS[id]}${wrapped(SCRIPT, '()', parts, 0)}`;
  const use = csv
    ? `for await (const text of ${call}) process.stdout.write(text);`
    : `const result = ${call};\nconsole.log(result);`;
  return `import { TransferService } from '@transfer-service/sdk';

const service = new TransferService(${wrapped(SCRIPT, '{}', settings, 0)});
${use}`;
}

/** A signed request, as adapters of processors send it. */
function signedInScript(url: string, body: unknown): string {
  return `import { signWebhook } from '@transfer-service/sdk';

const body = JSON.stringify(${literal(SCRIPT, body, 0)});
const id = \`msg_\${crypto.randomUUID()}\`;
const signature = await signWebhook({ id, body }, process.env.CONNECTOR_SECRET ?? '');
const headers = { ...signature, 'Content-Type': 'application/json' };
const response = await fetch(${inScript(url)}, { method: 'POST', headers, body });
console.log(await response.json());`;
}

/** The query parameters that an operation requires; undefined if it requires none. */
function queryOf(id: OperationId): unknown {
  const { query } = OPERATIONS[id];
  const required: object = Object(query === undefined ? {} : sampleOf(query));
  return Object.keys(required).length === 0 ? undefined : required;
}

/** The argument of the SDK's method: the array, if the body can only consist of one array. */
function onlyRows({ properties }: TObject, body: object): unknown {
  const [first] = Object.values(body);
  return Array.isArray(first) && Object.keys(properties).length === 1 ? first : body;
}

function literal(language: Language, value: unknown, depth: number): string {
  if (value === null || value === undefined) return language.null;
  if (typeof value === 'boolean') return value ? language.true : language.false;
  if (typeof value === 'string') return language.text(value);
  if (typeof value !== 'object') return String(value);
  const inner = (one: unknown): string => literal(language, one, depth + 1);
  if (Array.isArray(value)) return wrapped(language, '[]', value.map(inner), depth);
  const members = Object.entries(value).map(([name, one]) => `${language.name(name)}: ${inner(one)}`);
  return wrapped(language, '{}', members, depth);
}

/** Writes parts between brackets: on one line if it is short enough, otherwise one part per line. */
function wrapped(
  { gap, indent }: Language,
  brackets: '()' | '[]' | '{}',
  parts: readonly string[],
  depth: number,
): string {
  const [open = '', close = ''] = brackets;
  const space = open === '{' && parts.length > 0 ? gap : '';
  const line = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (line.length <= MAX_LINE && !line.includes('\n')) return line;
  const lines = parts.map((part) => `${indent.repeat(depth + 1)}${part},\n`);
  return `${open}\n${lines.join('')}${indent.repeat(depth)}${close}`;
}

/** Bodies up to this length are on one line. */
const MAX_BODY_LINE = 70;

/** The example of an operation as a program in Go, with the standard library only. */
export function goOf(id: OperationId, { base, needsKey }: CodePlace): string {
  const { method } = OPERATIONS[id];
  const { path, headers, body } = exampleOf(id);
  const imports = [
    'fmt',
    'io',
    'log',
    'net/http',
    ...(needsKey ? ['os'] : []),
    ...(body === undefined ? [] : ['strings']),
  ];
  const sent = [
    ...(needsKey ? ['"Authorization", "Bearer "+os.Getenv("TRANSFER_SERVICE_KEY")'] : []),
    ...(body === undefined || 'Content-Type' in headers ? [] : ['"Content-Type", "application/json"']),
    ...Object.entries(headers).map(([name, value]) => `${text(name)}, ${text(value)}`),
  ];
  const setHeaders = sent.map((header) => `\trequest.Header.Set(${header})\n`).join('');
  return `package main

import (
${imports.map((name) => `\t"${name}"\n`).join('')})

func main() {
${body === undefined ? '' : `\tbody := strings.NewReader(${bodyOf(body)})\n`}	request, err := http.NewRequest("${method}", ${text(base + path)}, ${body === undefined ? 'nil' : 'body'})
	if err != nil {
		log.Fatal(err)
	}
${setHeaders}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	result, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode >= 300 {
		log.Fatalf("%s: %s", response.Status, result)
	}
	fmt.Println(string(result))
}
`.trimEnd();
}

/** A string of JSON is also a string of Go, except for escapes that the examples do not have. */
function text(value: string): string {
  return JSON.stringify(value);
}

/** The body as it is sent, or indented if it is long. */
function bodyOf(body: string): string {
  if (body.includes('`')) return text(body);
  return `\`${body.length <= MAX_BODY_LINE ? body : JSON.stringify(JSON.parse(body), null, 2)}\``;
}
