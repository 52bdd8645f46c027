import { STATUS_CODES } from 'node:http';
import {
  type CodeFamily,
  ERRORS,
  familyCodes,
  operationsWith,
  resolverOf,
  sharedCodesOf,
  TYPE_GUIDES,
} from '../../contract/errors/catalogue.ts';
import { exampleRecord, reproductionCommands } from '../../contract/errors/examples.ts';
import { ERROR_TYPES, type ErrorType } from '../../contract/errors/record.ts';
import { headersOf } from '../../contract/openapi/headers.ts';
import { OPERATION_IDS } from '../../contract/operations.ts';
import type { ErrorCode } from '../../domain/error-codes.ts';
import { inCell, listing, page, table } from './markdown.ts';

const BASE = 'http://localhost:8080';
const CONTACT = 'support@example.com';

const INTRODUCTION = [
  '# Errors',
  'Every answer that is not a success is a record of four members:',
  listing('json', JSON.stringify(exampleRecord('card_closed', CONTACT), null, 2)),
  '`Code` is a category of causes: compare `Code`, `Type` and `Status` in programs, and show `Message`, which names ' +
    'the specific cause, to people. A code is never renamed and never used for something else. The running service ' +
    'explains each code at `/errors/{code}`, as a page and as data.',
  '## Types',
  table(
    ['Type', 'Cause', 'Resolution', 'Who resolves it'],
    ERROR_TYPES.map((type) => {
      const { cause, resolution, resolvedBy } = TYPE_GUIDES[type];
      return [type, cause, resolution, resolvedBy];
    }),
  ),
  'In a sandbox the header `Sandbox-Provoke: CODE` makes any operation that can answer with a code answer with it.',
];

/** docs/reference/errors.md: the catalogue of errors. */
export function errorReference(): string {
  return page(INTRODUCTION, ERROR_TYPES.flatMap(ofType));
}

function ofType(type: ErrorType): readonly string[] {
  const shared = sharedCodesOf(type);
  return [
    `## ${type}`,
    table(
      ['Code', 'Status', 'Meaning'],
      shared.map((code) => [`[\`${code}\`](#${code})`, String(ERRORS[code].status), inCell(ERRORS[code].meaning)]),
    ),
    ...shared.flatMap(ofCode),
    ...(type === 'Request Error' ? ofFamily('schema', '`<operation>_schema`') : []),
    ...(type === 'Server Error' ? ofFamily('unknown', '`unknown_<operation>`') : []),
  ];
}

function ofCode(code: ErrorCode): readonly string[] {
  const { causes, resolution, meaning, sample } = ERRORS[code];
  const commands = reproductionCommands(code, BASE);
  return [
    `### ${code}`,
    meaning,
    facts(code),
    `**Causes**\n\n${causes.map((cause) => `- ${cause}`).join('\n')}`,
    `**What to do**\n\n${resolution}`,
    `**Answered by**\n\n${answeredBy(code)}`,
    listing('json', JSON.stringify(exampleRecord(code, CONTACT), null, 2)),
    `**Headers**\n\n${headers(code)}`,
    `**In the sandbox**\n\n${sample.reproduce}`,
    commands.length === 0 ? '' : listing('sh', commands.join('\n')),
  ];
}

function facts(code: ErrorCode): string {
  const { status, moneyMoved, retryable, since } = ERRORS[code];
  return table(
    ['Status', 'Who resolves it', 'Money moved', 'Same request again can succeed', 'Since'],
    [[`${status} ${STATUS_CODES[status] ?? ''}`, resolverOf(code), moneyMoved, retryable ? 'yes' : 'no', since]],
  );
}

function answeredBy(code: ErrorCode): string {
  const operations = operationsWith(code);
  if (operations.length === OPERATION_IDS.length) return 'Every operation.';
  if (operations.length === 0) return 'No operation: it is about what is outside of them.';
  return operations.map((id) => `[\`${id}\`](api.md#${id})`).join(', ');
}

function headers(code: ErrorCode): string {
  const all = headersOf(code);
  return table(
    ['Header', 'Value', 'What it says'],
    all.map(({ name, value, description, optional }) => [
      `\`${name}\`${optional ? ' (sometimes)' : ''}`,
      `\`${inCell(value)}\``,
      inCell(description),
    ]),
  );
}

function ofFamily(kind: CodeFamily['kind'], name: string): readonly string[] {
  const codes = familyCodes(kind);
  const [first] = codes;
  if (first === undefined) return [];
  const { causes, resolution, status } = ERRORS[first];
  return [
    `### ${name}`,
    `Every operation has its own, with status ${status}.`,
    `**Causes**, for \`${first}\` and alike for the others\n\n${causes.map((cause) => `- ${cause}`).join('\n')}`,
    `**What to do**\n\n${resolution}`,
    table(
      ['Code', 'Meaning', 'Money moved', 'Example of a message'],
      codes.map((code) => [
        `\`${code}\``,
        inCell(ERRORS[code].meaning),
        ERRORS[code].moneyMoved,
        inCell(exampleRecord(code, CONTACT).Message),
      ]),
    ),
  ];
}
