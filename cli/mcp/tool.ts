import type { JSONObject } from '@modelcontextprotocol/server';
import type { TransferService } from '../../sdk/client.ts';

/** The service that the tools call, with the URL, the key and the card program of the settings. */
export type Called = {
  readonly service: TransferService;
  readonly url: string;
  readonly key: string | undefined;
  readonly program: string | undefined;
  /** The command that starts the command line, for advice. */
  readonly command: string;
};

/** The arguments of one call of a tool, and the signal that aborts when its caller no longer waits. */
export type Call = {
  readonly given: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
};

/** The result of a tool: data for programs, and the same data as text for models that read only text. */
export type Answer = {
  readonly content: [{ readonly type: 'text'; readonly text: string }];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: true;
};

/** A JSON schema of the arguments. `anyOf` and the like at the top level would be refused by some models. */
export type InputSchema = {
  readonly type: 'object';
  readonly properties: Record<string, JSONObject>;
  readonly required?: string[];
  readonly additionalProperties: false;
};

export type Tool = {
  readonly name: string;
  readonly title: string;
  /** For the model that chooses a tool: what it is for, and what the result means. */
  readonly description: string;
  readonly inputSchema: InputSchema;
  /** Whether it changes something. Such tools exist only with `--write`, and refuse to run against a live service. */
  readonly writes: boolean;
  /** Whether it can reduce a balance. Clients then ask their user before each call. */
  readonly isDestructive: boolean;
  readonly run: (called: Called, call: Call) => Promise<Answer>;
};

/** A call that a tool refuses before it sends anything. */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
  readonly details: Readonly<Record<string, unknown>>;

  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.details = details;
  }
}

/** The argument that selects the card program, for keys that can act in all of them. */
export const PROGRAM_ID = {
  program_id: {
    type: 'string',
    description: 'The card program, prog_...; needed only if the key can act in all card programs',
  },
} as const;

/** Returns the options of a request: its card program, and the signal that ends it. */
export function requestOptions({ given, signal }: Call): { programId: string | undefined; signal: AbortSignal } {
  const program = given.program_id;
  return { programId: program === undefined ? undefined : textIn(given, 'program_id'), signal };
}

/** Returns a text among the arguments. Throws RefusedCall if it is missing, empty or not a text. */
export function textIn(given: Readonly<Record<string, unknown>>, name: string): string {
  const value = given[name];
  if (value === undefined) throw new RefusedCall(`The argument '${name}' is missing.`);
  if (typeof value !== 'string' || value.trim() === '') {
    throw new RefusedCall(`The argument '${name}' must be a text that is not empty.`);
  }
  return value.trim();
}

/** Throws RefusedCall if an argument is not in the schema: a misspelled name would otherwise be ignored. */
export function refuseUnknown(given: Readonly<Record<string, unknown>>, { properties }: InputSchema): void {
  const known = Object.keys(properties);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  // The name itself is not repeated: a caller could have pasted a card number or a key there.
  throw new RefusedCall(`There is an unknown argument. This tool takes ${known.join(', ')}.`);
}

/** Returns a schema without the members that only this project reads. Their names begin with `x-`. */
export function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).filter(([name]) => !name.startsWith('x-'));
  return Object.fromEntries(members.map(([name, member]) => [name, plainSchema(member)]));
}
