import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../contract/operations.ts';
import { DEFAULT_SETTINGS } from './settings.ts';

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly $ref?: string; readonly maxLength?: number; readonly pattern?: string };
};

/** Length of the other headers: an API key, a trace id, Host, User-Agent, and the headers that a proxy adds. */
const OTHERS = 1500;

/** Maximum length of values without their own limit: a time, a number, a name from a list. */
const OTHER_VALUE = 80;

/**
 * Returns how many bytes a character of a value can take in a URL. A value with a pattern is in ASCII, and an escaped
 * ASCII character takes three. Any other character takes up to four times three.
 */
const escaped = ({ pattern }: Parameter['schema']): number => (pattern === undefined ? 12 : 3);

test('accepts the head of every request that the OpenAPI document allows, with every parameter at its maximum length', async () => {
  const { paths, components } = JSON.parse(await readFile('contract/openapi.json', 'utf8'));
  const resolved = (part: Parameter | { readonly $ref: string }): Parameter =>
    '$ref' in part ? components.parameters[part.$ref.split('/').at(-1) ?? ''] : part;
  const sizes = Object.values(OPERATIONS).map(({ id, method, path }) => {
    const parameters: readonly Parameter[] = (paths[path][method.toLowerCase()].parameters ?? []).map(resolved);
    const size = parameters.reduce((sum, { name, schema, in: place }) => {
      const { maxLength } = schema;
      const value = maxLength === undefined ? OTHER_VALUE : maxLength * (place === 'header' ? 1 : escaped(schema));
      return sum + name.length + 4 + value;
    }, path.length + OTHERS);
    return { id, size };
  });
  expect(sizes.length).toBeGreaterThan(100);
  expect(sizes.filter(({ size }) => size > DEFAULT_SETTINGS.maxHeadBytes)).toEqual([]);
});
