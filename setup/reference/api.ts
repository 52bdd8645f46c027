import { ERRORS } from '../../contract/errors/catalogue.ts';
import { curlOf, exampleFile, exampleOf, exampleReply } from '../../contract/examples.ts';
import { type Field, fieldsOf } from '../../contract/openapi/fields.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATIONS, type OperationId, precedenceOf, SECTIONS } from '../../contract/operations.ts';
import { inCell, listing, page, table } from './markdown.ts';

const BASE = 'http://localhost:8080';

const KEYS: Readonly<Record<'none' | 'optional' | 'required', string>> = {
  none: 'not used',
  optional: 'optional',
  required: 'required',
};

const INTRODUCTION = [
  '# API reference',
  'The same as an OpenAPI document: `contract/openapi.json`, served at `/openapi.json`; as a page: `/docs`.',
  'Requests carry `Authorization: Bearer <key>`; a sandbox on this machine needs no key. Amounts are whole numbers of ' +
    "the currency's minor unit: 8550 is 85.50 USD. Every answer that is not a success is an [error record](errors.md).",
];

/** docs/reference/api.md: every operation. */
export function apiReference(): string {
  const contents = SECTIONS.flatMap((section) =>
    section.operations.map((id) => [
      `[\`${id}\`](#${id})`,
      `\`${OPERATIONS[id].method} ${OPERATIONS[id].path}\``,
      OPERATIONS[id].summary,
    ]),
  );
  return page(
    INTRODUCTION,
    table(['Operation', 'Request', 'What it does'], contents),
    SECTIONS.flatMap((section) => [
      `## ${section.title}`,
      section.description,
      ...section.operations.flatMap(ofOperation),
    ]),
  );
}

function ofOperation(id: OperationId): readonly string[] {
  const { method, path, summary, scope, reach, params, body, query, status, reply, idempotency, csv } = OPERATIONS[id];
  return [
    `### ${id}`,
    `\`${method} ${path}\``,
    `${summary}.`,
    table(
      ['Scope', 'Acts in one card program', 'Idempotency-Key', 'Success'],
      [[`\`${scope}\``, reach === 'program' ? 'yes' : 'no', KEYS[idempotency], String(status)]],
    ),
    ...(parametersOf(path).length === 0 ? [] : ['**Path**', fields(params)]),
    ...(query === undefined ? [] : ['**Query**', fields(query)]),
    ...(body === undefined ? [] : ['**Body**', fields(body)]),
    '**Example**',
    listing('sh', curlOf(exampleOf(id), BASE)),
    ...(csv === true
      ? [
          '**Reply**: comma-separated values, with these columns',
          fields(reply),
          listing('csv', exampleFile(id).trimEnd()),
        ]
      : ['**Reply**', fields(reply), listing('json', JSON.stringify(exampleReply(id), null, 2))]),
    '**Errors**, the first that applies is the answer',
    precedenceOf(id)
      .map((code) => `${ERRORS[code].status} \`${code}\``)
      .join(' → '),
  ];
}

function fields(schema: object): string {
  return table(['Field', 'Type', 'Required', 'Meaning'], rows(fieldsOf(schema), ''));
}

function rows(all: readonly Field[], above: string): readonly (readonly string[])[] {
  return all.flatMap(({ name, type, required, limits, description, inner }) => [
    [
      `\`${above}${name}\``,
      inCell(limits === '' ? type : `${type}, ${limits}`),
      required ? 'yes' : 'no',
      inCell(description),
    ],
    ...rows(inner, `${above}${name}.`),
  ]);
}
