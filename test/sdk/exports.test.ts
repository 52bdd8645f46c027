import { afterAll, afterEach, describe, expect, test } from 'vitest';
import {
  ConnectionFailure,
  IncompleteResponse,
  RequestError,
  ServerError,
  type TextChunks,
  TransferService,
  UnexpectedResponse,
} from '../../sdk/client.ts';
import { type Canned, errorResponse, startCannedService } from './canned-service.ts';

const HEADINGS = 'transfer_id,amount\r\n';
const ROWS = ['tr_1,1000\r\n', 'tr_2,2000\r\n'];
const WHOLE: Canned = { chunks: [HEADINGS, ...ROWS] };

const service = await startCannedService();
afterEach(() => {
  service.onRequest = () => undefined;
});
afterAll(() => service.close());

function client(options: object = {}): TransferService {
  return new TransferService({ baseUrl: service.url, ...options });
}

/** Begins an export. The timeout leaves enough time for the first bytes, even on a slow machine. */
async function begin(timeoutMilliseconds = 1_000): Promise<{ timeoutMilliseconds: number; chunks: TextChunks }> {
  service.play(WHOLE);
  try {
    return { timeoutMilliseconds, chunks: await client({ timeoutMilliseconds, maxRetries: 0 }).transfers.export() };
  } catch (error) {
    if (error instanceof ConnectionFailure && error.reason === 'timeout') return begin(2 * timeoutMilliseconds);
    throw error;
  }
}

/** Returns the text of an export, and the error that the loop threw, or undefined if the export completed. */
async function read(
  chunks: TextChunks,
  onChunk = (): void => undefined,
): Promise<{ readonly text: string; readonly thrown: unknown }> {
  let text = '';
  try {
    for await (const chunk of chunks) {
      text += chunk;
      onChunk();
    }
    return { text, thrown: undefined };
  } catch (thrown) {
    return { text, thrown };
  }
}

describe('a complete export', () => {
  test.each<[string, (service: TransferService) => Promise<TextChunks>]>([
    ['transfers', ({ transfers }) => transfers.export()],
    ['a statement', ({ cards }) => cards.exportPostings('card_1')],
  ])('of %s is read chunk by chunk', async (_, begin) => {
    service.play(WHOLE);
    expect(await read(await begin(client()))).toEqual({ text: HEADINGS + ROWS.join(''), thrown: undefined });
    expect(service.received).toHaveLength(1);
  });

  test('has its response details before the first chunk', async () => {
    service.play(WHOLE);
    const chunks = await client().transfers.export({ card_id: 'card_active' });
    expect(chunks.response).toMatchObject({ status: 200, requestId: 'req_canned', attempts: 1 });
    expect(service.received[0]?.url).toBe('/api/v0.1/core/transfer/export?card_id=card_active');
    await chunks.return();
  });

  test('may split a character between two chunks', async () => {
    const bytes = new TextEncoder().encode('ü€\r\n');
    service.play({ chunks: Array.from(bytes, (byte) => Uint8Array.of(byte)) });
    expect(await read(await client().transfers.export())).toEqual({ text: 'ü€\r\n', thrown: undefined });
  });

  test('may be empty', async () => {
    service.play({ chunks: [] });
    expect(await read(await client().transfers.export())).toEqual({ text: '', thrown: undefined });
  });

  test('may be read slowly, without a timeout', async () => {
    const { timeoutMilliseconds, chunks } = await begin();
    let text = '';
    for await (const chunk of chunks) {
      text += chunk;
      await new Promise((resolve) => setTimeout(resolve, 1.25 * timeoutMilliseconds));
    }
    expect(text).toBe(HEADINGS + ROWS.join(''));
  });

  test('is canceled when the caller leaves the loop early', async () => {
    const isClosed = new Promise<void>((resolve) => {
      service.onRequest = (request) => request.socket.once('close', () => resolve());
    });
    service.play({ chunks: [HEADINGS], ends: 'without an end' });
    for await (const chunk of await client().transfers.export()) {
      expect(chunk).toBe(HEADINGS);
      break;
    }
    await isClosed;
  });
});

describe('an export that is cut off', () => {
  test('throws an error with the request id, even if all rows were received', async () => {
    service.play({ chunks: [HEADINGS, ...ROWS], ends: 'cut' });
    const { text, thrown } = await read(await client().transfers.export());
    expect(HEADINGS + ROWS.join('')).toContain(text);
    expect(thrown).toBeInstanceOf(IncompleteResponse);
    expect(thrown).toBeInstanceOf(ConnectionFailure);
    expect(thrown).toMatchObject({
      name: 'IncompleteResponse',
      reason: 'lost',
      requestId: 'req_canned',
      moneyMoved: 'no',
      attempts: 1,
      baseUrl: service.url,
    });
    expect((thrown as Error).message).toContain('The response is incomplete.');
    expect((thrown as Error).message).not.toContain('money');
    expect((thrown as Error).cause).toBeInstanceOf(Error);
    expect(service.received).toHaveLength(1);
  });

  test('throws if it ends in the middle of a character, even if the connection ends normally', async () => {
    service.play({ chunks: [Uint8Array.of(0x61, 0xe2, 0x82)] });
    const { text, thrown } = await read(await client().transfers.export());
    expect(text).toBe('a');
    expect(thrown).toBeInstanceOf(IncompleteResponse);
  });

  test('throws after the timeout if the service sends nothing', async () => {
    service.play({ chunks: [HEADINGS], ends: 'without an end' });
    const { text, thrown } = await read(await client({ timeoutMilliseconds: 3_000 }).transfers.export());
    expect(text).toBe(HEADINGS);
    expect(thrown).toMatchObject({ name: 'IncompleteResponse', reason: 'timeout', attempts: 1 });
    expect((thrown as Error).message).toContain('sent nothing for 3000 ms');
    expect(service.received).toHaveLength(1);
  });

  test("throws an error whose cause is the signal's abort reason", async () => {
    service.play({ chunks: [HEADINGS], ends: 'without an end' });
    const controller = new AbortController();
    const chunks = await client().transfers.export({}, { signal: controller.signal });
    const { text, thrown } = await read(chunks, () => controller.abort('enough'));
    expect(text).toBe(HEADINGS);
    expect(thrown).toMatchObject({ name: 'IncompleteResponse', reason: 'aborted', cause: 'enough' });
  });
});

describe('before the first chunk', () => {
  test.each<[string, Canned]>([
    ['cut before the response', 'cut before the response'],
    ['cut between the headers and the first chunk', { chunks: [], ends: 'cut' }],
    [
      'rejected with Should-Retry',
      errorResponse(
        { Status: 500, Code: 'unknown_export_transfers', Type: 'Server Error' },
        { 'should-retry': 'true' },
      ),
    ],
  ])('retries an export that was %s', async (_, canned) => {
    service.play(canned, WHOLE);
    const chunks = await client().transfers.export();
    expect(chunks.response.attempts).toBe(2);
    expect(await read(chunks)).toEqual({ text: HEADINGS + ROWS.join(''), thrown: undefined });
  });

  test('throws a ConnectionFailure for a timeout, after the usual number of tries', async () => {
    service.play({ chunks: [], ends: 'without an end' });
    // This is enough time for each try to reach the service on a busy machine.
    const impatient = client({ timeoutMilliseconds: 2_000, maxRetries: 1 });
    const thrown = await impatient.transfers.export().catch((error: unknown) => error);
    expect(thrown).toMatchObject({ name: 'ConnectionFailure', reason: 'timeout', attempts: 2, moneyMoved: 'no' });
    expect(service.received).toHaveLength(2);
  });

  test.each([
    ['a Request Error', { Status: 404, Code: 'card_not_found', Type: 'Request Error' }, RequestError],
    ['a Server Error', { Status: 500, Code: 'unknown_export_postings', Type: 'Server Error' }, ServerError],
  ] as const)('throws %s, like every other operation', async (_, record, kind) => {
    service.play(errorResponse(record));
    const thrown = await client()
      .cards.exportPostings('card_1')
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(kind);
    expect(thrown).toMatchObject({ Code: record.Code, requestId: 'req_canned', attempts: 1 });
  });

  test.each<[string, Canned]>([
    ['a page', { status: 200, body: '<h1>Log in</h1>' }],
    ['a record', { status: 200, body: { data: [] } }],
  ])('throws an UnexpectedResponse for %s instead of an export', async (_, canned) => {
    service.play(canned);
    await expect(client().transfers.export()).rejects.toThrow(UnexpectedResponse);
    expect(service.received).toHaveLength(1);
  });
});
