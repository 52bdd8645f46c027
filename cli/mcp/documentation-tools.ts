import { OPERATION_IDS, OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { answer } from './answer.ts';
import { sendPlain } from './plain-request.ts';
import { type Answer, type Call, type Called, plainSchema, RefusedCall, type Tool, textIn } from './tool.ts';

const READS = { writes: false, isDestructive: false } as const;

type SearchRecord = { readonly kind: string; readonly name: string; readonly path: string; readonly summary: string };

const searchDocs: Tool = {
  ...READS,
  name: 'search_docs',
  title: 'Search the documentation',
  description:
    "Searches the service's documentation: guides, runbook, API operations and their fields, error codes and events. Takes words, " +
    'a status, or a complete error message. Each result has a path; read it with read_page. It finds no records: for a request id ' +
    'use explain_request, for a transfer id get_transfer_story.',
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string', description: 'Words, such as "partial capture", or a pasted message' } },
    required: ['query'],
    additionalProperties: false,
  },
  run: async (called, { given, signal }) => {
    const query = new URLSearchParams({ q: textIn(given, 'query').slice(0, MAX_QUERY_CHARACTERS) });
    const { text } = await sendPlain(called, { path: `/search.json?${query}`, signal });
    const { data } = parseJson(text) as { readonly data: readonly SearchRecord[] };
    const summary =
      data.length === 0 ? 'Nothing found. Try fewer or other words.' : `${data.length} results, the best kind first.`;
    return answer(summary, { results: data });
  },
};

/** The maximum that the search of the service reads. */
const MAX_QUERY_CHARACTERS = 1_000;

const readPage: Tool = {
  ...READS,
  name: 'read_page',
  title: 'Read a page of the documentation',
  description:
    'Reads a page that search_docs found, by its path: a guide (/guides/idempotency), a page of the runbook ' +
    '(/guides/runbook/disk-full), an operation (/docs/create_transfer), an error code or an event (/events/transfer.failed). ' +
    '/guides lists all guides. With an anchor, as in /guides/sandbox#move-the-clock, it returns only that section.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', description: 'The path of the page, such as /guides/idempotency' } },
    required: ['path'],
    additionalProperties: false,
  },
  run: async (called, call) => {
    const [path = '', anchor] = textIn(call.given, 'path').split('#');
    if (path === '/guides') return readData(called, call, path);
    const [, kind, named = ''] = /^\/(guides|docs|errors|events)\/([a-z0-9_./-]{1,100})$/.exec(path) ?? [];
    if (kind === undefined || named.includes('..')) {
      throw new RefusedCall('This is not the path of a page. Paths begin with /guides/, /docs/, /errors/ or /events/.');
    }
    const name = named.replace(/\.(md|json)$/, '');
    if (kind === 'docs') return answer(`The operation ${name}.`, operationRecord(name));
    return kind === 'guides' ? readGuide(called, call, name, anchor) : readData(called, call, `/${kind}/${name}`);
  },
};

async function readData(called: Called, { signal }: Call, path: string): Promise<Answer> {
  const { text } = await sendPlain(called, { path: `${path}.json`, signal });
  return answer(`The page ${path}.`, Object(parseJson(text)));
}

async function readGuide(called: Called, { signal }: Call, name: string, anchor: string | undefined): Promise<Answer> {
  const { text } = await sendPlain(called, { path: `/guides/${name}.md`, signal });
  const section = anchor === undefined ? undefined : sectionOf(text, anchor);
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name;
  const note = anchor === undefined || section !== undefined ? '' : ' It has no section with this anchor.';
  return answer(`The guide “${title}”.${note}`, { path: `/guides/${name}`, markdown: section ?? text });
}

/** Returns the section of a Markdown text whose heading has the anchor, with the sections below it. */
function sectionOf(text: string, anchor: string): string | undefined {
  const lines = text.split('\n');
  const anchors = anchorsOf(lines);
  const start = anchors.findIndex((one) => one?.id === anchor);
  const level = anchors[start]?.level;
  if (level === undefined) return undefined;
  const end = anchors.findIndex((one, at) => at > start && one !== undefined && one.level <= level);
  return lines.slice(start, end === -1 ? undefined : end).join('\n');
}

type Anchor = { readonly id: string; readonly level: number };

/** Returns the anchor of each line that is a heading: GitHub's, which the pages use too. */
function anchorsOf(lines: readonly string[]): readonly (Anchor | undefined)[] {
  const used = new Map<string, number>();
  let isListing = false;
  return lines.map((line) => {
    if (line.startsWith('```')) isListing = !isListing;
    const [, marks, title] = isListing ? [] : (/^(#{1,4}) (.*)$/.exec(line) ?? []);
    if (marks === undefined || title === undefined) return undefined;
    const plain = title.replaceAll(/\[([^\]]*)\]\([^()]*\)/g, '$1').toLowerCase();
    const id = plain.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replaceAll(' ', '-');
    const count = used.get(id) ?? 0;
    used.set(id, count + 1);
    return { id: count === 0 ? id : `${id}-${count}`, level: marks.length };
  });
}

export const DOCUMENTATION_TOOLS: readonly Tool[] = [searchDocs, readPage];

/** Describes an operation of the API: how to call it, and which error codes it returns. Throws RefusedCall if there is none. */
function operationRecord(name: string): object {
  const id = OPERATION_IDS.find((one) => one === name);
  if (id === undefined) throw new RefusedCall('There is no such operation. Use search_docs to find its name.');
  const { method, path, summary, scope, query, body, status, reply, movesMoney, idempotency } = OPERATIONS[id];
  return {
    operation: id,
    method,
    path,
    about: summary,
    scope,
    moves_money: movesMoney,
    idempotency_key: idempotency,
    query: query === undefined ? null : plainSchema(query),
    body: body === undefined ? null : plainSchema(body),
    status,
    response: plainSchema(reply),
    error_codes: precedenceOf(id),
  };
}
