import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { EXAMPLE_NOTICE, EXAMPLE_TIME } from '../samples.ts';
import { literals, moment, nullable, textOrNull } from '../schema-parts.ts';
import { SwitchRecord } from '../service/switch.ts';
import { AdapterNotice, MAX_ADAPTER_BYTES, NoticeReceipt } from './adapter.ts';

const open = (what: string) => Type.Integer({ minimum: 0, description: `Attempts ${what}` });

/** A connector, which talks to the processor of cards. */
export const ConnectorRecord = Type.Object({
  connector_id: Type.String({ description: 'Name of the connector in the settings' }),
  kind: literals(['http', 'simulator'], "http: an adapter for a processor; simulator: the sandbox's own processor"),
  state: literals(
    ['up', 'down'],
    'down: the processor did not answer, so new transfers are refused or wait, as the settings say; it is tried again ' +
      'every 15 s',
  ),
  since: nullable(moment('When it entered this state; null if unknown')),
  reason: textOrNull('Why it is down; null if it is up'),
  disabled_by: Type.Array(SwitchRecord, {
    description:
      'The settings of the switch that now disable transfers at this connector, widest first; empty if there are none. Settings ' +
      'that disable the whole service or a whole card program are not included: see `get_switch`',
  }),
  in_flight: Type.Integer({ minimum: 0, description: 'Calls of the responding process that have no answer yet' }),
  open: Type.Object(
    {
      ready: open('waiting to be sent'),
      sent: open('waiting for the answer'),
      unknown: open('with an unknown outcome; the processor is asked about them'),
      pending: open('that the processor will carry out'),
      reversing: open('that the processor is asked to reverse'),
      attention: open('whose unknown outcome an operator must find out'),
    },
    { description: 'Its unfinished attempts in all card programs, by status' },
  ),
  oldest_unknown_since: nullable(
    moment('When the outcome of the oldest such attempt became unknown; null if there is none'),
  ),
});

export const Connectors = Type.Object({
  data: Type.Array(ConnectorRecord, { description: 'The connectors, by name; empty if the settings have none' }),
});

export const CONNECTORS = [
  operation({
    id: 'list_connectors',
    method: 'GET',
    path: '/api/v0.1/operator/connector',
    summary: 'List the connectors to processors: whether they answer or are disabled, and what waits for them',
    reach: 'operator',
    scope: 'operator:read',
    reply: Connectors,
    failure: 'The connectors could not be listed',
    example: {
      reply: {
        connector_id: 'increase',
        state: 'down',
        since: EXAMPLE_TIME,
        reason: '5 calls in a row had no answer within 10 s.',
        disabled_by: [],
        in_flight: 0,
        open: { ready: 3, sent: 0, unknown: 5, pending: 1, reversing: 0, attention: 0 },
        oldest_unknown_since: EXAMPLE_TIME,
      },
    },
  }),
  operation({
    id: 'receive_notice',
    method: 'POST',
    path: '/api/v0.1/connector/{connector_id}/notice',
    summary: 'Report the outcome of an order to the service, in a notice that the adapter of the processor signs',
    reach: 'connector',
    body: AdapterNotice,
    maxBodyBytes: MAX_ADAPTER_BYTES,
    reply: NoticeReceipt,
    repeatable: true,
    errors: ['notice_id_reused'],
    failure: 'The notice could not be stored',
    example: {
      body: EXAMPLE_NOTICE,
      reply: { received: true },
    },
  }),
] as const;

export type ConnectorRecord = Static<typeof ConnectorRecord>;
