import { afterAll, expect, test, vi } from 'vitest';
import { exampleReply } from '../../contract/examples.ts';
import { type Canned, errorResponse, startCannedService } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';

const service = await startCannedService();
afterAll(() => service.close());

const [EXAMPLE] = Object(exampleReply('list_errors')).data;

/** Returns an error that was recorded in this second of a fixed minute. */
function error(second: number, fields: object = {}) {
  const id = `req_${String(second).padStart(32, '0')}`;
  const time = `2030-01-31T12:00:${String(second).padStart(2, '0')}.000Z`;
  return { ...EXAMPLE, request_id: id, created_at: time, message: `Error ${second}.`, ...fields };
}

const page = (...data: object[]): Canned => ({ status: 200, body: { data, next_cursor: null, dropped: 0 } });

/** Runs `errors tail` until the service has responded to this many requests. */
async function tail(options: string, requests: number, ...responses: readonly Canned[]): Promise<Outcome> {
  service.play(...responses);
  const controller = new AbortController();
  const words = `errors tail ${options}`.trim().split(' ');
  const outcome = runHere(service.url, words, {}, controller.signal);
  const enough = () => expect(service.received.length).toBeGreaterThan(requests);
  await Promise.race([vi.waitFor(enough, { timeout: 120_000, interval: 10 }), outcome]);
  controller.abort();
  return outcome;
}

const idsIn = (output: string) => [...output.matchAll(/Error (\d+)\./g)].map(([, second]) => Number(second));

test('prints each new error once, oldest first, and how to continue', async () => {
  const { exitCode, output, errors } = await tail(
    '',
    3,
    page(error(1)),
    page(error(3), error(2), error(1)),
    page(error(4), error(3), error(2), error(1)),
    page(error(4), error(3), error(2), error(1)),
  );
  expect(exitCode).toBe(0);
  expect(idsIn(output)).toEqual([2, 3, 4]);
  expect(output.split('\n')[0]).toMatch(
    /^2030-01-31 12:00:02 UTC {2}409 insufficient_funds {2}create_transfer {2}req_0+2 {2}Error 2\.$/,
  );
  expect(errors).toBe(
    'Waiting for errors. Press Ctrl-C to stop.\nTo continue: transfer-service errors tail --from 2030-01-31T12:00:04.001Z\n',
  );
});

test('continues after an outage, and also prints older errors that are recorded late', async () => {
  const unavailable = errorResponse(
    { Status: 503, Code: 'service_unavailable', Type: 'Server Error', Message: 'The database is down.' },
    { 'should-retry': 'false' },
  );
  const { exitCode, output, errors } = await tail(
    '',
    5,
    page(error(1)),
    page(error(5), error(1)),
    unavailable,
    unavailable,
    page(error(9), error(5), error(3), error(1)),
    page(error(9), error(5), error(3), error(1)),
  );
  expect(exitCode).toBe(0);
  expect(idsIn(output)).toEqual([5, 3, 9]);
  // A repeated failure is reported only once a minute.
  expect(errors.match(/The database is down\. Trying again in \d+\.\d s\./g)).toHaveLength(1);
});

test('reads further pages until it finds an error that it has already printed', async () => {
  const full = {
    ...Object(page(error(6), error(5))),
    body: { data: [error(6), error(5)], next_cursor: 'c2', dropped: 0 },
  };
  const { output } = await tail('', 3, page(error(1)), full, page(error(4), error(1)), page(error(6)));
  expect(idsIn(output)).toEqual([4, 5, 6]);
  expect(service.received[2]?.url).toContain('cursor=c2');
});

test('accepts a start time, filters, --json and --all-programs', async () => {
  const found = { ...error(2), program_id: 'prog_1', caller: 'program_key', checks: null };
  const { output } = await tail(
    '--from 2030-01-31 --code insufficient_funds --all-programs --json',
    1,
    page(found),
    page(found),
  );
  expect(
    output
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  ).toEqual([found]);
  const url = new URL(service.received[0]?.url ?? '', service.url);
  expect(url.pathname).toContain('/operator/');
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    code: 'insufficient_funds',
    created_from: '2030-01-31T00:00:00Z',
  });
});

test('prints the error and exits with 1 if the key does not have the scope', async () => {
  service.play(errorResponse({ Status: 403, Code: 'forbidden', Type: 'Request Error', Message: 'No.' }, {}));
  const { exitCode, errors } = await runHere(service.url, ['errors', 'tail']);
  expect(exitCode).toBe(1);
  expect(errors).toContain('error: No.\n\nCode:        forbidden (Request Error, 403)\n');
});
