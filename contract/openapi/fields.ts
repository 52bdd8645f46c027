import { isSum, type SchemaShape } from '../schema-parts.ts';

// Invariant: Every field of a request and a reply has a description that says when it is null
// Kept by: `contract/`
// Tested by: `contract/openapi/described-fields.test.ts`

/** One field of a body, a query or a reply, in words. */
export type Field = {
  readonly name: string;
  /** The type in words, such as `string or null` or `array of objects`. */
  readonly type: string;
  readonly required: boolean;
  /** The constraints on a value, such as `1 to 255 characters`; empty if there is only the type. */
  readonly limits: string;
  readonly description: string;
  /** The fields of an object, or of the objects in an array. */
  readonly inner: readonly Field[];
};

/** The fields of an object's schema, in its order. If two have the same inner fields, only the first lists them. */
export function fieldsOf(schema: object): readonly Field[] {
  const shape: SchemaShape = schema;
  const fields = Object.entries(shape.properties ?? {}).map(([name, member]) => {
    const described = withoutNull(member);
    const inner = described.items ?? described;
    return {
      name,
      type: typeOf(member),
      required: shape.required?.includes(name) ?? false,
      limits: limitsOf(described),
      description: member.description ?? described.description ?? '',
      inner: fieldsOf(inner),
    };
  });
  return fields.map((field, at) => {
    const twin = fields.slice(0, at).find(({ inner }) => inner.length > 0 && isSame(inner, field.inner));
    if (twin === undefined) return field;
    const says = `The same fields as '${twin.name}'`;
    return { ...field, description: field.description === '' ? says : `${field.description}. ${says}`, inner: [] };
  });
}

function isSame(left: readonly Field[], right: readonly Field[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function withoutNull(shape: SchemaShape): SchemaShape {
  if (shape['x-amount'] || isSum(shape)) return shape;
  return shape.anyOf?.find(({ type }) => type !== 'null') ?? shape;
}

function typeOf(shape: SchemaShape): string {
  if (shape['x-amount']) return 'integer, or its digits as a string';
  if (isSum(shape)) return 'integer (a string of its digits beyond 2^53 - 1)';
  if (shape.anyOf !== undefined) return shape.anyOf.map(typeOf).join(' or ');
  if (shape.$ref !== undefined) return 'error record';
  if (shape.format === 'date-time') return 'time';
  if (shape.format === 'date') return 'date';
  if (shape.type === 'array') return `array of ${typeOf(shape.items ?? {})}s`;
  return [shape.type ?? 'value'].flat().join(' or ');
}

function limitsOf(shape: SchemaShape): string {
  if (shape.enum !== undefined) {
    return shape.enum.length === 1 ? `only ${String(shape.enum[0])}` : `one of ${shape.enum.map(String).join(', ')}`;
  }
  if (shape.minimum !== undefined && shape.maximum !== undefined) return `${shape.minimum} to ${shape.maximum}`;
  if (shape.maxLength !== undefined) {
    const range = `${shape.minLength ?? 0} to ${shape.maxLength}`;
    return shape['x-text'] === undefined ? `${range} characters` : `${range} visible characters`;
  }
  return '';
}
