import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { moment } from '../schema-parts.ts';
import { JsonNumber } from './json.ts';
import { readFields } from './read-fields.ts';
import { readMoment } from './times.ts';

describe('readMoment', () => {
  it.each([
    ['2030-01-31T12:00:00Z', '2030-01-31T12:00:00.000Z'],
    ['2030-01-31t12:00:00z', '2030-01-31T12:00:00.000Z'],
    ['2030-01-31T12:00:00.5Z', '2030-01-31T12:00:00.500Z'],
    // The form in which .NET and Go write times.
    ['2030-01-31T12:00:00.1239999+02:00', '2030-01-31T10:00:00.123Z'],
    ['2030-01-31T12:00:00.123456789-00:30', '2030-01-31T12:30:00.123Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2016-12-31T15:59:60.25-08:00', '2017-01-01T00:00:00.250Z'],
    ['2030-02-28T23:59:59.9999Z', '2030-02-28T23:59:59.999Z'],
  ])('reads %s as %s', (text, stored) => {
    expect(readMoment(text)).toBe(stored);
  });

  it.each([
    ...['2030-01-31', '2030-01-31T12:00:00', '2030-01-31T12:00Z', '2030-02-30T12:00:00Z', '2030-01-31T24:00:00Z'],
    ...['2030-01-31T12:00:60Z', '2030-01-31T23:59:60+02:00', '2030-01-31T12:00:61Z', '2030-01-31T12:00:00.Z'],
    ...['2030-01-31T12:00:00+24:00', '1899-12-31T23:59:59Z', '9999-12-31T23:59:60Z', '9999-12-31T23:59:59-01:00', ''],
  ])('refuses %j', (text) => {
    expect(readMoment(text)).toBeUndefined();
  });
});

describe('a time in a request', () => {
  const schema = Type.Object({ from: moment('From') });
  const problemOf = (from: string, source: 'query' | 'body' = 'query') => {
    const reading = readFields(schema, { from }, source);
    return 'problem' in reading ? reading.problem.message : reading.fields;
  };

  it('with an unescaped + in a query is refused, and the message names %2B', () => {
    expect(problemOf('2030-01-31T12:00:00 02:00')).toMatch(/in a query, \+ is a space, so send it as %2B\.$/);
    expect(problemOf('2030-01-31T12:00:00 02:00', 'body')).not.toContain('%2B');
  });

  it('is refused without an offset, and the message says how to add one', () => {
    expect(problemOf('2030-01-31T12:00:00', 'body')).toMatch(
      /: end it with Z or with an offset from UTC, such as \+02:00\.$/,
    );
  });

  it('is read in UTC', () => {
    expect(problemOf('2030-01-31T12:00:00.1234567+02:00')).toEqual({ from: '2030-01-31T10:00:00.123Z' });
    expect(readFields(schema, { from: new JsonNumber('1') }, 'body')).toHaveProperty('problem');
  });
});
