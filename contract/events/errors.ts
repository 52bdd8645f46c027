import { type Static, Type } from 'typebox';
import { load } from '../error.ts';
import { errorRecord } from '../errors/catalogue.ts';
import { type ErrorRecord, withSupport } from '../errors/record.ts';
import { EXAMPLE_REQUEST_ID, EXAMPLE_TIME } from '../samples.ts';
import { described, moment } from '../schema-parts.ts';
import { eventType } from './definition.ts';

/** The schema of the data of error.recorded. */
export const RecordedErrors = Type.Object({
  error: described(
    Type.Unsafe<ErrorRecord>({ $ref: '#/components/schemas/ErrorRecord' }),
    'The error record of the last of these responses',
  ),
  request_id: Type.String({ description: 'Request-Id of the last of these responses' }),
  count: Type.Integer({ minimum: 1, description: 'Number of responses with this code that the event reports' }),
  since: moment('When the first of them was sent'),
});

export const ERROR_EVENTS = {
  'error.recorded': eventType({
    summary: 'Requests failed with a Server Error or a Process Error, which only support can resolve.',
    sent: [
      'The first response with a code causes an event at once. Further responses are counted, and at most one event a minute reports their number. When they stop, the last event comes at the end of that minute.',
      'A Request Error causes no event. Its response already tells the caller what to do.',
    ],
    data: RecordedErrors,
    subject: 'request_id',
    operation: 'get_error',
    notes: [
      '`error` is the error record of the last response, with its four fields.',
      'Each code is counted separately for each card program. Errors that belong to no card program are for operators only.',
      'Errors that occur while the database is unavailable are recorded, and counted, once it is back.',
    ],
    example: {
      error: errorRecord(
        'unknown_create_transfer',
        withSupport('The transfer could not be created. No money was moved.', {
          contact: 'support@example.com',
          requestId: EXAMPLE_REQUEST_ID,
        }),
      ),
      count: 1,
      since: EXAMPLE_TIME,
    },
    sample: {
      reproduce:
        'Let a transfer fail with the header Sandbox-Provoke. If you did that within the last minute, first wait until the minute is over.',
      request: load({}, { 'Sandbox-Provoke': 'unknown_create_transfer' }),
      status: 500,
    },
  }),
};

export type RecordedErrors = Static<typeof RecordedErrors>;
