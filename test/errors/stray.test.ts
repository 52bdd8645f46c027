import { expect, test } from 'vitest';
import { sendRaw } from '../harness/raw-request.ts';
import { refusalOf, useOwnService } from '../harness/service.ts';

// Tests stray requests, which browsers, monitors and scanners send to any service. The service refuses them without an
// alert.

const service = useOwnService('This file counts the requests to the service.');

const HEALTH = 'There is no route at this path. The state of the service is at /health/live and /health/ready.';
const DOCS = 'There is no route at this path. See the API reference at /docs.';

const GUESSES: readonly (readonly [method: string, path: string, code: string, message: string])[] = [
  ['GET', '/healthz', 'route_not_found', HEALTH],
  ['GET', '/health', 'route_not_found', HEALTH],
  ['HEAD', '/readyz?verbose', 'route_not_found', HEALTH],
  ['GET', '/_health', 'route_not_found', HEALTH],
  ['GET', '/actuator/health', 'route_not_found', HEALTH],
  ['GET', '/ping/', 'route_not_found', HEALTH],
  ['GET', '/status', 'route_not_found', HEALTH],
  [
    'GET',
    '/metrics',
    'route_not_found',
    'There is no route at this path. Metrics are served on a separate port: see METRICS_PORT.',
  ],
  ['GET', '/robots.txt', 'route_not_found', DOCS],
  ['GET', '/.env', 'route_not_found', DOCS],
  ['GET', '/apple-touch-icon.png', 'route_not_found', DOCS],
  ['POST', '/wp-login.php', 'route_not_found', DOCS],
  ['GET', '/v2/_catalog', 'route_not_found', DOCS],
  ['GET', '/statusquo', 'route_not_found', DOCS],
  ['PROPFIND', '/', 'method_not_allowed', 'This path supports only GET, HEAD.'],
  ['POST', '/', 'method_not_allowed', 'This path supports only GET, HEAD.'],
  [
    'GET',
    '/errors/insufficient_fund',
    'route_not_found',
    "There is no error code 'insufficient_fund'. See /errors for all codes.",
  ],
  ['GET', '/apis', 'route_not_found', DOCS],
];

/** Wrong paths that a caller who means an operation could send by mistake. */
const MISTAKES: readonly (readonly [method: string, path: string, headers?: Readonly<Record<string, string>>])[] = [
  ['POST', '/api/v0.2/core/transfer'],
  ['POST', '/v0.1/core/transfer'],
  ['POST', '/core/transfer', { 'Idempotency-Key': 'order-1' }],
  ['GET', '/transfers', { 'Program-Id': 'prg_demo' }],
  ['POST', '/', { Authorization: 'Bearer ts_1_2' }],
  ['POST', '//api/v0.1/core/transfer'],
  ['POST', '/transfers/api/v0.1/core/transfer'],
  ['DELETE', '/api/v0.1/core/transfer'],
];

test('stray requests get an error record, but are kept out of the error log, its counts and the overview', async () => {
  const { client, url } = service();
  const stray: string[] = [];
  for (const [method, path, code, message] of GUESSES) {
    const response = await sendRaw(url, { method, path });
    const status = code === 'route_not_found' ? 404 : 405;
    expect(response.headers['error-code'], path).toBe(code);
    expect(response.status).toBe(status);
    if (method !== 'HEAD') {
      expect(JSON.parse(response.text)).toEqual({
        Message: message,
        Status: status,
        Code: code,
        Type: 'Request Error',
      });
    }
    stray.push(String(response.headers['request-id']));
  }
  const mistaken: string[] = [];
  for (const [method, path, headers = {}] of MISTAKES) {
    mistaken.push(String((await sendRaw(url, { method, path, headers })).headers['request-id']));
  }
  // Errors are stored in order. If the errors of stray requests were stored, they would be there by now.
  const unrouted = async () => {
    const found: string[] = [];
    for (const code of ['route_not_found', 'method_not_allowed'] as const) {
      for await (const { request_id } of client.errors.searchAll({ code })) found.push(request_id);
    }
    return found.toSorted();
  };
  await expect.poll(unrouted).toEqual(mistaken.toSorted());
  for (const requestId of stray)
    expect((await refusalOf(client.errors.inspect(requestId))).Code).toBe('error_not_found');
  expect((await refusalOf(client.requests.inspect(stray[0] ?? ''))).Code).toBe('request_not_found');
  expect((await client.errors.search()).dropped).toBe(0);
  const counts = (await client.errors.count()).data.filter(({ code }) => code === 'route_not_found');
  expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(6);
  const chart = async (): Promise<number> => {
    const { recent } = await client.status.overview();
    const found = recent.errors.find(({ code }) => code === 'route_not_found');
    return (found?.counts ?? []).reduce((sum, count) => sum + count, 0);
  };
  await expect.poll(chart).toBe(6);
});
