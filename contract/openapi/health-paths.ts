import { type JsonObject, reference } from './shared-schemas.ts';

export const HEALTH_SECTION = {
  title: 'Health',
  description:
    'For load balancers, orchestrators and monitoring. These requests need no key and are never refused because of load.',
} as const;

const HEADERS = {
  headers: { 'Request-Id': reference('headers', 'Request-Id') },
} as const;

const live = {
  operationId: 'check_liveness',
  summary: 'Check that the process is running',
  description:
    'Responds as long as the process is running, even if the database is down. Restart the service if there is no response.',
  responses: {
    200: {
      description: 'The process is running.',
      ...HEADERS,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['status'],
            properties: { status: { type: 'string', const: 'live', description: 'The process is running' } },
          },
          example: { status: 'live' },
        },
      },
    },
    405: reference('responses', 'method_not_allowed'),
    500: reference('responses', 'unknown_request'),
  },
} as const;

const ready = {
  operationId: 'check_readiness',
  summary: 'Check that the service can commit transfers',
  description:
    'Responds with 200 while every operation can be served, and with 503 otherwise. On 503, send requests to ' +
    'another process, and do not restart this one. The response also names problems that do not stop the service from working.',
  responses: {
    200: {
      description: 'Every operation can be served.',
      headers: {
        ...HEADERS.headers,
        Readiness: {
          description: 'The stable name of the state; `ready` if nothing is wrong.',
          schema: reference('schemas', 'ReadinessReason'),
        },
        Runbook: {
          description: 'The path of the runbook page in the project, if there is something to do.',
          schema: { type: 'string' },
        },
      },
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['status'],
            properties: {
              status: { type: 'string', const: 'ready', description: 'Every operation can be served' },
              degraded: {
                ...reference('schemas', 'ReadinessReason'),
                description:
                  'The stable name of a problem that does not stop the service from working; absent if there is none',
              },
              message: { type: 'string', description: 'The problem in a sentence; absent if there is none' },
              runbook: {
                type: 'string',
                description: 'The path of the runbook page in the project; absent if there is nothing to do',
              },
            },
          },
          example: { status: 'ready' },
        },
      },
    },
    405: reference('responses', 'method_not_allowed'),
    500: reference('responses', 'unknown_request'),
    503: reference('responses', 'service_unavailable'),
  },
} as const;

const shared = { tags: [HEALTH_SECTION.title], security: [] } as const;

/** The paths of the health checks. They are not operations of the API, and need no key. */
export const HEALTH_PATHS: JsonObject = {
  '/health/live': { get: { ...shared, ...live } },
  '/health/ready': { get: { ...shared, ...ready } },
};
