import type { IdentifierPrefix } from '../../domain/identifier.ts';
import type { SampleRequest } from '../error.ts';
import { curlOf, type ExampleRequest, exampleOf } from '../examples.ts';
import type { ErrorCode } from '../operations.ts';
import { OPERATION_IDS, precedenceOf } from '../operations.ts';
import { EXAMPLE_REQUEST_ID } from '../samples.ts';
import { ERRORS, errorRecord } from './catalogue.ts';
import { type ErrorRecord, withSupport } from './record.ts';

/** The placeholder in the path of a sample's request for an id that `given` creates. */
const CREATED_ID = /\{(transfer|webhook|case|incident|person)_id\}/;

/** Operations that create the subject of a sample. */
const CREATING: ReadonlySet<string> = new Set([
  'create_transfer',
  'create_webhook',
  'create_case',
  'create_incident',
  'sign_in_as',
]);

/** The prefixes of their ids, by the names of the placeholders. */
const PREFIXES: Readonly<Record<string, IdentifierPrefix>> = {
  transfer: 'tr',
  webhook: 'wh',
  case: 'case',
  incident: 'inc',
  person: 'per',
};

/** Commands for a POSIX shell that reproduce the code; empty if commands cannot cause it. */
export function reproductionCommands(code: ErrorCode, base: string): readonly string[] {
  const { given = [], request, after = [], shell } = ERRORS[code].sample;
  if (shell !== undefined) return [shell.replaceAll('{base}', base)];
  if (typeof given === 'string') return [];
  const command = (one: SampleRequest, options = ''): string => withId(one, curlOf(one, base, options), base);
  const about = [request, ...given, ...after].map(({ path }) => path).find((path) => CREATED_ID.test(path));
  const creating = about === undefined ? -1 : given.findLastIndex(({ operation = '' }) => CREATING.has(operation));
  return [
    ...given.map((one, at) => (at === creating ? savingId(about ?? '', command(one)) : command(one))),
    command(request, '-i'),
    ...after.map((one) => command(one)),
  ];
}

/**
 * The command with the shell variable that contains the stored id. The URL is in double quotes, so that the shell expands the
 * variable.
 */
function withId({ path }: SampleRequest, command: string, base: string): string {
  return command.replace(`'${base}${path}'`, (quoted) =>
    CREATED_ID.test(quoted) ? `"${base}${path.replace(CREATED_ID, '$id')}"` : quoted,
  );
}

/** Wraps a command so that it stores the created id, for a request with this path. Uses only tools of every POSIX system. */
function savingId(path: string, command: string): string {
  const [, thing = ''] = CREATED_ID.exec(path) ?? [];
  return `id=$(${command} | grep -o '${PREFIXES[thing]}_[0-9a-f]*')`;
}

/** A request that gets the code from a sandbox with the header `Sandbox-Provoke`; undefined if no operation returns the code. */
export function provokingRequest(code: ErrorCode): ExampleRequest | undefined {
  const returning = OPERATION_IDS.filter((id) => precedenceOf(id).includes(code));
  const id = returning.find((operation) => operation === 'create_transfer') ?? returning[0];
  if (id === undefined) return undefined;
  const example = exampleOf(id);
  return { ...example, headers: { ...example.headers, 'Sandbox-Provoke': code } };
}

/** A request that gets the code from a sandbox, with an unknown outcome; undefined for codes that never have one. */
export function unknownOutcomeRequest(code: ErrorCode): ExampleRequest | undefined {
  const provoking = ERRORS[code].moneyMoved === 'no' ? undefined : provokingRequest(code);
  if (provoking === undefined) return undefined;
  return { ...provoking, headers: { ...provoking.headers, 'Sandbox-Provoke': `${code}; money_moved=unknown` } };
}

/** The record that the sample of a code gets. `contact` is the service's setting for reaching support. */
export function exampleRecord(code: ErrorCode, contact: string): ErrorRecord {
  const { type, sample } = ERRORS[code];
  if (type === 'Request Error' || sample.isOnTransfer === true) return errorRecord(code, sample.message);
  return errorRecord(code, withSupport(sample.message, { contact, requestId: EXAMPLE_REQUEST_ID }));
}
