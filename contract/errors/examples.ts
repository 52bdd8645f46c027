import type { SampleRequest } from '../error.ts';
import { curlOf, type ExampleRequest, exampleOf } from '../examples.ts';
import type { ErrorCode } from '../operations.ts';
import { OPERATION_IDS, precedenceOf } from '../operations.ts';
import { EXAMPLE_REQUEST_ID } from '../samples.ts';
import { ERRORS, errorRecord } from './catalogue.ts';
import { type ErrorRecord, withSupport } from './record.ts';

/** Stands in the path of a sample's request for the transfer that was created before. */
const CREATED = '{transfer_id}';

/** Commands for a POSIX shell that reproduce the code; none if its cause cannot be typed. */
export function reproductionCommands(code: ErrorCode, base: string): readonly string[] {
  const { given = [], request, after = [], shell } = ERRORS[code].sample;
  if (shell !== undefined) return [shell.replaceAll('{base}', base)];
  if (typeof given === 'string') return [];
  const plain = (requests: readonly SampleRequest[]) => requests.map((one) => curlOf(one, base));
  const shown = curlOf(request, base, '-i');
  if (!request.path.includes(CREATED)) return [...plain(given), shown, ...plain(after)];
  const creating = plain(given).map((command, at) => (at === given.length - 1 ? savingId(command) : command));
  return [...creating, shown.replace(`'${base}${request.path}'`, `"${base}${request.path.replace(CREATED, '$id')}"`)];
}

/** A command that stores the id of the transfer it creates, with tools that every machine has. */
function savingId(command: string): string {
  return `id=$(${command} | grep -o 'tr_[0-9a-f]*')`;
}

/** A sandbox request that gets the code by its `Sandbox-Provoke` header; undefined if no operation returns the code. */
export function provokingRequest(code: ErrorCode): ExampleRequest | undefined {
  const returning = OPERATION_IDS.filter((id) => precedenceOf(id).includes(code));
  const id = returning.find((operation) => operation === 'create_transfer') ?? returning[0];
  if (id === undefined) return undefined;
  const example = exampleOf(id);
  return { ...example, headers: { ...example.headers, 'Sandbox-Provoke': code } };
}

/** The same with an unknown outcome; undefined for codes that never have one. */
export function unknownOutcomeRequest(code: ErrorCode): ExampleRequest | undefined {
  const provoking = ERRORS[code].moneyMoved === 'no' ? undefined : provokingRequest(code);
  if (provoking === undefined) return undefined;
  return { ...provoking, headers: { ...provoking.headers, 'Sandbox-Provoke': `${code}; money_moved=unknown` } };
}

/** The record that the sample of a code gets. `contact` is the service's setting for reaching support. */
export function exampleRecord(code: ErrorCode, contact: string): ErrorRecord {
  const { type, sample } = ERRORS[code];
  if (type === 'Request Error') return errorRecord(code, sample.message);
  return errorRecord(code, withSupport(sample.message, { contact, requestId: EXAMPLE_REQUEST_ID }));
}
