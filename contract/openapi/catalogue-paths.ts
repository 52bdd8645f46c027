import { type JsonObject, reference } from './shared-schemas.ts';

/** The sections of the document in addition to the operations and the health checks. */
export const CATALOGUE_SECTIONS = [
  { title: 'Catalogue of errors', description: 'Explains every error code.' },
  { title: 'Catalogue of events', description: 'Explains every type of event.' },
] as const;

/** A catalogue: a list that can be searched, and an entry for each name. */
type Catalogue = {
  readonly section: (typeof CATALOGUE_SECTIONS)[number];
  readonly path: string;
  /** The name of the path parameter, whose value selects an entry. */
  readonly parameter: string;
  readonly example: string;
  readonly schema: string;
  readonly listing: { readonly id: string; readonly summary: string; readonly search: string };
  readonly entry: { readonly id: string; readonly summary: string; readonly found: string };
};

const CATALOGUES: readonly Catalogue[] = [
  {
    section: CATALOGUE_SECTIONS[0],
    path: '/errors',
    parameter: 'code',
    example: 'card_closed',
    schema: 'CatalogueRecord',
    listing: {
      id: 'list_error_codes',
      summary: 'List the error codes with their explanations',
      search: 'Only codes that match these words (in the code, meaning, causes or message) or this status',
    },
    entry: {
      id: 'explain_error_code',
      summary: 'Explain one error code',
      found: 'The meaning, the causes and the resolution of the code.',
    },
  },
  {
    section: CATALOGUE_SECTIONS[1],
    path: '/events',
    parameter: 'type',
    example: 'transfer.failed',
    schema: 'EventTypeRecord',
    listing: {
      id: 'list_event_types',
      summary: 'List the types of events with their explanations',
      search:
        'Only types that match these words (in the type, in the text about when it is sent, or in the fields of its data)',
    },
    entry: {
      id: 'explain_event_type',
      summary: 'Explain one type of event',
      found: 'When events of the type are sent, and an example.',
    },
  },
];

const FAILURES = {
  405: reference('responses', 'method_not_allowed'),
  500: reference('responses', 'unknown_request'),
  503: reference('responses', 'service_unavailable'),
} as const;

/** The paths of the catalogues. They are not operations, need no key, and return a page or data, depending on Accept. */
export const CATALOGUE_PATHS: JsonObject = Object.fromEntries(CATALOGUES.flatMap(pathsOf));

function pathsOf(catalogue: Catalogue): readonly (readonly [path: string, item: JsonObject])[] {
  const { section, path, parameter, example, schema, listing, entry } = catalogue;
  const shared = { tags: [section.title], security: [] } as const;
  const describe = (of: string): string => `HTML for browsers, JSON for other clients; \`${of}.json\` is always JSON.`;
  const list = {
    type: 'object',
    required: ['data'],
    properties: { data: { type: 'array', items: reference('schemas', schema) } },
  } as const;
  const listed = {
    operationId: listing.id,
    summary: listing.summary,
    description: describe(path),
    ...shared,
    parameters: [{ name: 'q', in: 'query', description: listing.search, schema: { type: 'string' } }],
    responses: { 200: success(`The ${parameter}s.`, list), ...FAILURES },
  };
  const explained = {
    operationId: entry.id,
    summary: entry.summary,
    description: describe(`${path}/{${parameter}}`),
    ...shared,
    parameters: [
      {
        name: parameter,
        in: 'path',
        required: true,
        description: `The ${parameter}`,
        // Every name has this form. A path with an empty name is the path of the list.
        schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[a-z0-9_]+([.][a-z0-9_]+)?$' },
        example,
      },
    ],
    responses: {
      200: success(entry.found, reference('schemas', schema)),
      404: reference('responses', 'route_not_found'),
      414: reference('responses', 'uri_too_long'),
      ...FAILURES,
    },
  };
  return [
    [path, { get: listed }],
    [`${path}/{${parameter}}`, { get: explained }],
  ];
}

function success(description: string, schema: JsonObject): JsonObject {
  return { description, content: { 'application/json': { schema }, 'text/html': { schema: { type: 'string' } } } };
}
