import { type Static, Type } from 'typebox';
import { ERROR_TYPES, type ErrorType, type MoneyMoved } from '../domain/catalogue-entry.ts';
import { pageOf } from './schema-parts.ts';

const type = (description: string) => Type.Unsafe<ErrorType>({ type: 'string', enum: [...ERROR_TYPES], description });
const text = (maximum: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: maximum, description }));
const moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));
const textOrNull = (description: string) => Type.Union([Type.String({ description }), Type.Null()]);
const objectOrNull = (description: string) =>
  Type.Union([Type.Unsafe<Record<string, unknown>>({ type: 'object', description }), Type.Null()]);

const FILTERS = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'How many at most; 20 if left out' })),
  cursor: text(200, 'next_cursor of the page before'),
  code: text(100, 'Only errors with this code'),
  type: Type.Optional(type('Only errors of this type')),
  operation: text(100, 'Only errors of this operation'),
  card_id: text(255, 'Only errors about this card'),
  created_from: moment('Only errors from this moment on'),
  created_to: moment('Only errors before this moment'),
};

/** The query of list_errors. */
export const ListErrorsQuery = Type.Object(FILTERS);

/** The query of search_errors. */
export const SearchErrorsQuery = Type.Object({
  ...FILTERS,
  program_id: text(255, 'Only errors of this card program'),
});

/** The query of count_errors. */
export const CountErrorsQuery = Type.Object({
  interval: Type.Optional(
    Type.Unsafe<'hour' | 'day'>({
      type: 'string',
      enum: ['hour', 'day'],
      description: 'What is counted together, in UTC; hour if left out',
    }),
  ),
  from: moment('First interval: the one that holds this moment; 24 hours or 30 days before `to` if left out'),
  to: moment('Last interval: the one before this moment, or that holds it; now if left out'),
  code: text(100, 'Only errors with this code'),
  program_id: text(255, 'Only errors of this card program'),
});

/** An error that was answered, as the caller's own side may see it: nothing of the service's inside. */
export const LoggedErrorRecord = Type.Object({
  request_id: Type.String({ description: 'Request-Id of the answer' }),
  created_at: Type.String({ format: 'date-time', description: 'When the request came' }),
  operation: textOrNull('The operation, where it could be told'),
  code: Type.String({ description: 'Code of the answer' }),
  status: Type.Integer({ description: 'HTTP status of the answer' }),
  type: type('Type of the answer'),
  message: Type.String({ description: 'Message of the answer, without card numbers' }),
  field: textOrNull('JSON pointer of the member at fault'),
  method: textOrNull('Method of the request'),
  path: textOrNull('Path of the request, with the names of its parameters'),
  card_id: textOrNull('The card at fault, or else the one that the request named'),
  transfer_id: textOrNull('The transfer that exists or may exist'),
  idempotency_key: textOrNull('Idempotency-Key of the request'),
  money_moved: Type.Union([
    Type.Unsafe<MoneyMoved>({ type: 'string', enum: ['no', 'yes', 'unknown'], description: 'Whether it moved money' }),
    Type.Null(),
  ]),
  request: objectOrNull('The members of the request, where they were read; without card numbers and keys'),
});

/** An error as operators list it. */
export const OperatorErrorRecord = Type.Object({
  ...LoggedErrorRecord.properties,
  program_id: textOrNull('The card program, where it was known'),
  caller: textOrNull('Who called: sandbox, program_key or operator_key'),
  checks: objectOrNull('The values that the failing check saw'),
});

/** An error with everything that is known about it. */
export const InspectedErrorRecord = Type.Object({
  ...OperatorErrorRecord.properties,
  causes: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Class of what was thrown' }),
      message: Type.String(),
      stack: Type.Array(Type.String(), { description: 'Its frames, the innermost first' }),
    }),
    { description: 'What was thrown, then what caused that, and so on; empty when the error is the caller’s' },
  ),
});

const Dropped = Type.Integer({ description: 'Errors of that time that were answered but could not be recorded' });

/** A page of search_errors. */
export const FoundErrors = Type.Unsafe<{
  data: Static<typeof OperatorErrorRecord>[];
  next_cursor: string | null;
  dropped: number;
}>({
  ...pageOf(OperatorErrorRecord),
  required: ['data', 'next_cursor', 'dropped'],
  properties: { ...Reflect.get(pageOf(OperatorErrorRecord), 'properties'), dropped: Dropped },
});

/** What count_errors answers: data for a chart. */
export const ErrorCounts = Type.Object({
  interval: Type.Unsafe<'hour' | 'day'>({
    type: 'string',
    enum: ['hour', 'day'],
    description: 'What is counted together',
  }),
  from: Type.String({ format: 'date-time', description: 'Beginning of the first interval' }),
  to: Type.String({ format: 'date-time', description: 'End of the last interval' }),
  data: Type.Array(
    Type.Object({
      start: Type.String({ format: 'date-time', description: 'Beginning of the interval' }),
      code: Type.String(),
      type: Type.Union([type('Type of the code'), Type.Null()]),
      count: Type.Integer({ description: 'Errors with the code in the interval; never 0' }),
    }),
    { description: 'Oldest first, then by code' },
  ),
  dropped: Dropped,
});

/** The query of list_errors after reading. */
export type ListErrorsQuery = Static<typeof ListErrorsQuery>;
/** The query of search_errors after reading. */
export type SearchErrorsQuery = Static<typeof SearchErrorsQuery>;
/** The query of count_errors after reading. */
export type CountErrorsQuery = Static<typeof CountErrorsQuery>;
/** An error on the wire, as integrators see it. */
export type LoggedErrorRecord = Static<typeof LoggedErrorRecord>;
/** An error on the wire, as operators list it. */
export type OperatorErrorRecord = Static<typeof OperatorErrorRecord>;
/** An error on the wire, with everything. */
export type InspectedErrorRecord = Static<typeof InspectedErrorRecord>;
/** A page of search_errors on the wire. */
export type FoundErrors = Static<typeof FoundErrors>;
/** Counts on the wire. */
export type ErrorCounts = Static<typeof ErrorCounts>;
