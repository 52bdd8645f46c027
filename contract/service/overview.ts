import { type Static, Type } from 'typebox';
import { TRANSFER_TYPES } from '../../domain/transfers/transfer.ts';
import { operation } from '../operation.ts';
import { sampleOf } from '../samples.ts';
import { described, describedOrNull, literals, moment, nullable } from '../schema-parts.ts';
import { ServiceStatus, STATUS } from './status.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const counts = (description: string) =>
  Type.Array(count(description), { description: `${description}, in each interval` });
const countsOrNull = (description: string) =>
  Type.Array(nullable(count(description)), {
    description: `${description}, in each interval; null while the process was suspended`,
  });
const milliseconds = (description: string) => nullable(Type.Number({ minimum: 0, description }));
const allMilliseconds = (description: string) =>
  Type.Array(milliseconds(description), { description: `${description}, in each interval` });

const OUTCOMES = {
  succeeded: 'Requests that move money and succeeded',
  refused: 'Requests that move money and were refused by the rules of the ledger (409) or by the switch (424)',
  invalid: 'Requests that move money and failed with any other error of the caller',
  failed: 'Requests that move money and failed because of the service (Server or Process Error)',
} as const;
const P50 = 'Latency that 50% of the requests that move money did not exceed, null without requests';
const P99 = 'Latency that 99% of the requests that move money did not exceed, null without requests';

/** The outcomes of the requests that move money within a minute. */
export const RequestFigures = Type.Object({
  seconds: count('Length of the period'),
  transfers_per_second: Type.Number({ minimum: 0, description: 'Transfers that were created' }),
  requests: count('Requests that move money; a batch of transfers counts as one'),
  succeeded: count(OUTCOMES.succeeded),
  refused: count(OUTCOMES.refused),
  invalid: count(OUTCOMES.invalid),
  failed: count(OUTCOMES.failed),
  success_ratio: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: 'Share that succeeded; null without requests' }),
  ),
  p50_milliseconds: milliseconds(P50),
  p99_milliseconds: milliseconds(P99),
});

/** The last quarter of an hour of this process, in intervals of equal length, the oldest first. */
export const RecentFigures = Type.Object({
  ends_at: moment('End of the last interval'),
  interval_seconds: count('Length of an interval'),
  transfers: countsOrNull('Transfers that were created'),
  succeeded: countsOrNull(OUTCOMES.succeeded),
  refused: countsOrNull(OUTCOMES.refused),
  invalid: countsOrNull(OUTCOMES.invalid),
  failed: countsOrNull(OUTCOMES.failed),
  p50_milliseconds: allMilliseconds(P50),
  p99_milliseconds: allMilliseconds(P99),
  lane_waiting: countsOrNull('Transfers that waited to be committed'),
  errors: Type.Array(
    Type.Object({
      code: Type.String({ description: 'Error code; `other` for all but the most frequent' }),
      counts: counts('Responses with the code'),
    }),
    { description: 'Error responses by code, the most frequent first' },
  ),
});

/** One process of the service, when it was last seen. */
export const ProcessRecord = Type.Object({
  host: Type.String({ description: 'Name of the machine' }),
  process_id: count('Id of the process on that machine'),
  version: Type.String({ description: 'Version of the service' }),
  started_at: moment('When it was started'),
  seen_at: moment('When it was last seen; each process is seen every 10 seconds'),
  alive: Type.Boolean({ description: 'Whether it was seen within 35 seconds' }),
  current: Type.Boolean({ description: 'Whether it is the process that responds' }),
  figures: described(RequestFigures, 'Its figures for the minute before it was last seen'),
});

/** The figures of the service: all its processes together, and details of the responding process. */
export const Overview = Type.Object({
  made_at: moment('When these figures were computed, at most once a second'),
  all: describedOrNull(
    RequestFigures,
    'The last minute of all processes that are alive, together; null while the database does not respond',
  ),
  processes: nullable(
    Type.Array(ProcessRecord, {
      description:
        'The processes that were seen in the last hour, the oldest first, except processes that were stopped properly; null while the database does not respond',
    }),
  ),
  now: described(RequestFigures, 'The last minute of this process'),
  lane_waiting: count('Transfers of this process that are waiting to be committed'),
  recent: described(RecentFigures, 'The last quarter of an hour of this process, in intervals'),
  hours: nullable(
    Type.Array(
      Type.Object({
        start: moment('Start of the hour'),
        type: literals(TRANSFER_TYPES, 'Type of transfer'),
        transfers: count('Transfers that were created, by all processes; never 0'),
      }),
      { description: 'The current hour and the 24 before, oldest first; null while the database does not respond' },
    ),
  ),
  proposed_incidents: Type.Array(
    Type.Object({
      code: Type.String({ description: 'Error code' }),
      in_last_minute: count('Responses of this process with the code in the last minute'),
      in_hour_before: count('Responses of this process with the code in the hour before that'),
    }),
    {
      description:
        'Codes of Server and Process Errors with at least five responses in the last minute, and ten times the rate of the ' +
        'hour before, which may have one cause. No incident is opened automatically',
    },
  ),
  status: described(ServiceStatus, 'The state of this process, as get_status returns it'),
});

const FIGURES = {
  seconds: 60,
  transfers_per_second: 41.7,
  requests: 2_510,
  succeeded: 2_502,
  refused: 7,
  invalid: 1,
  failed: 0,
  success_ratio: 0.9968,
  p50_milliseconds: 3.4,
  p99_milliseconds: 11,
};

export const OVERVIEW = [
  operation({
    id: 'get_overview',
    method: 'GET',
    path: '/api/v0.1/operator/overview',
    summary: 'Get the rates, latencies and errors of the service, which of its processes are alive, and its state',
    reach: 'operator',
    scope: 'operator:read',
    reply: Overview,
    failure: 'The overview could not be computed',
    example: {
      reply: {
        all: FIGURES,
        processes: [
          { ...Object(sampleOf(ProcessRecord)), version: '0.1.0', alive: true, current: true, figures: FIGURES },
        ],
        now: FIGURES,
        lane_waiting: 0,
        hours: [{ start: '2026-01-31T09:00:00.000Z', type: 'load', transfers: 51_300 }],
        proposed_incidents: [{ code: 'unknown_create_transfer', in_last_minute: 240, in_hour_before: 3 }],
        status: { ...Object(sampleOf(ServiceStatus)), ...STATUS[0].example.reply },
      },
    },
  }),
] as const;

export type Overview = Static<typeof Overview>;
export type ProcessRecord = Static<typeof ProcessRecord>;
export type RequestFigures = Static<typeof RequestFigures>;
export type RecentFigures = Static<typeof RecentFigures>;
