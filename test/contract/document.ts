import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

// Like any other client, the test knows the service only by its OpenAPI document.

/** A schema of JSON Schema 2020-12, with each `$ref` resolved. */
export type Schema = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  /**
   * Fields whose omission lets a request do more, such as act in all card programs. They must not be null or empty.
   */
  readonly 'x-if-omitted'?: Readonly<Record<string, string>>;
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
  /** For parameters: at least one of these other parameters must also be sent. */
  readonly 'x-requires'?: readonly string[];
  /** For times: the minimum number of seconds that they must lie in the past. */
  readonly 'x-seconds-ago'?: number;
};

export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly style?: string;
  readonly schema: Schema;
};

type Response = {
  readonly headers?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema; readonly examples?: Examples }>>;
};

type Examples = Readonly<Record<string, { readonly value: { readonly Code: string; readonly Status: number } }>>;

/** An operation as the document describes it. */
export type Operation = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** The schema of a JSON body, or undefined if the operation has no body. */
  readonly body: Schema | undefined;
  readonly isBodyRequired: boolean;
  readonly responses: ReadonlyMap<number, Response>;
};

/** Any part of the document. */
// biome-ignore lint/suspicious/noExplicitAny: the test has to discover the content of the document.
type Json = any;

export async function readDocument(url: string): Promise<Document> {
  const response = await fetch(`${url}/openapi.json`);
  return new Document(JSON.parse(await response.text()));
}

/** An OpenAPI document, with its operations by id. */
export class Document {
  readonly operations: ReadonlyMap<string, Operation>;
  readonly errorCodes: ReadonlySet<string>;
  readonly #root: Json;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true });
  readonly #validators = new Map<Schema, ValidateFunction>();

  constructor(root: Json) {
    this.#root = root;
    this.#ajv.addFormat('date-time', (text: string) => !Number.isNaN(Date.parse(text)));
    this.#ajv.addFormat('date', /^\d{4}-\d{2}-\d{2}$/);
    for (const format of ['uri', 'uri-reference', 'int32', 'int64']) this.#ajv.addFormat(format, true);
    const operations = new Map<string, Operation>();
    for (const [path, item] of Object.entries(this.#resolve(root.paths))) {
      for (const [method, described] of Object.entries<Json>(item as Json)) {
        if (described.operationId === undefined) continue;
        const operation = this.#read(method.toUpperCase(), path, described);
        operations.set(operation.id, operation);
      }
    }
    this.operations = operations;
    this.errorCodes = new Set(root.components?.schemas?.ErrorCode?.enum);
  }

  /** Returns the schema of a webhook's body in the document. */
  bodyOfWebhook(name: string): Schema {
    return this.#resolve(this.#root.webhooks[name].post.requestBody.content['application/json'].schema);
  }

  /** Returns why a schema does not allow a value, or undefined if it does. */
  problemOf(schema: Schema, value: unknown): string | undefined {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      validate = this.#ajv.compile(schema as object);
      this.#validators.set(schema, validate);
    }
    return validate(value) ? undefined : this.#ajv.errorsText(validate.errors);
  }

  #read(method: string, path: string, described: Json): Operation {
    const { operationId, parameters, requestBody, responses } = described;
    return {
      id: operationId,
      method,
      path,
      parameters: parameters ?? [],
      body: requestBody?.content?.['application/json']?.schema,
      isBodyRequired: requestBody?.required === true,
      responses: new Map(
        Object.entries<Response>(responses).flatMap(([status, one]) =>
          /^\d+$/.test(status) ? [[Number(status), one] as const] : partsOfRange(one),
        ),
      ),
    };
  }

  /** Replaces each `$ref` with its target. No request or response schema contains itself. */
  #resolve(part: unknown, depth = 0): Json {
    if (depth > 60) throw new Error('a schema of the document contains itself');
    if (Array.isArray(part)) return part.map((one) => this.#resolve(one, depth + 1));
    if (typeof part !== 'object' || part === null) return part;
    if ('$ref' in part && typeof part.$ref === 'string') return this.#referred(part.$ref, depth);
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, this.#resolve(value, depth + 1)]));
  }

  readonly #known = new Map<string, Json>();

  #referred(pointer: string, depth: number): Json {
    const known = this.#known.get(pointer);
    if (known !== undefined) return known;
    const target = pointer
      .split('/')
      .slice(1)
      .reduce<unknown>(
        (part, name) => (part as Record<string, unknown>)[name.replaceAll('~1', '/').replaceAll('~0', '~')],
        this.#root,
      );
    const resolved = this.#resolve(target, depth + 1);
    this.#known.set(pointer, resolved);
    return resolved;
  }
}

/**
 * Returns a response for each status in a range. The range's examples show which codes have which status, so no other
 * codes are allowed. A range without examples, as in the adapters' document, allows no status.
 */
function partsOfRange(range: Response): readonly (readonly [number, Response])[] {
  const { schema = {}, examples = {} } = range.content?.['application/json'] ?? {};
  const records = Object.values(examples).map(({ value }) => value);
  const statuses = (fieldsOf(schema).Status?.enum ?? []).map(Number);
  return statuses.map((status) => {
    const codes = records.filter(({ Status }) => Status === status).map(({ Code }) => Code);
    const narrowed = { allOf: [schema, { properties: { Code: { enum: codes }, Status: { const: status } } }] };
    return [status, { ...range, content: { 'application/json': { schema: narrowed } } }] as const;
  });
}

/** Returns the fields of an object, including the fields of the schemas that it extends. */
export function fieldsOf({ properties, allOf = [] }: Schema = {}): Readonly<Record<string, Schema>> {
  return Object.assign({}, ...allOf.map(fieldsOf), properties);
}
