import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  ConnectionFailure,
  IncompleteAnswer,
  RequestError,
  ServerError,
  type TextChunks,
  TransferService,
  UnexpectedAnswer,
} from '../../sdk/client.ts';
import { type Canned, type CannedService, errorAnswer, startCannedService } from './canned-service.ts';

const HEADINGS = 'transfer_id,amount\r\n';
const ROWS = ['tr_1,1000\r\n', 'tr_2,2000\r\n'];
const WHOLE: Canned = { pieces: [HEADINGS, ...ROWS] };

let service: CannedService;
beforeAll(async () => {
  service = await startCannedService();
});
afterEach(() => {
  service.onRequest = () => undefined;
});
afterAll(() => service.close());

function client(options: object = {}): TransferService {
  return new TransferService({ baseUrl: service.url, ...options });
}

/** What came of an export, and what its loop threw; undefined when it ended. */
async function read(chunks: TextChunks): Promise<{ readonly text: string; readonly thrown: unknown }> {
  let text = '';
  try {
    for await (const chunk of chunks) text += chunk;
    return { text, thrown: undefined };
  } catch (thrown) {
    return { text, thrown };
  }
}

describe('a whole export', () => {
  test.each<[string, (service: TransferService) => Promise<TextChunks>]>([
    ['transfers', ({ transfers }) => transfers.export()],
    ['a statement', ({ cards }) => cards.exportPostings('card_1')],
  ])('of %s comes piece by piece', async (_, begin) => {
    service.play(WHOLE);
    expect(await read(await begin(client()))).toEqual({ text: HEADINGS + ROWS.join(''), thrown: undefined });
    expect(service.received).toHaveLength(1);
  });

  test('has what the service said beside it, before the first piece is read', async () => {
    service.play(WHOLE);
    const chunks = await client().transfers.export({ card_id: 'card_active' });
    expect(chunks.response).toMatchObject({ status: 200, requestId: 'req_canned', attempts: 1 });
    expect(service.received[0]?.url).toBe('/api/v0.1/core/transfer/export?card_id=card_active');
    await chunks.return();
  });

  test('may cut a character in two', async () => {
    const bytes = new TextEncoder().encode('ü€\r\n');
    service.play({ pieces: Array.from(bytes, (byte) => Uint8Array.of(byte)) });
    expect(await read(await client().transfers.export())).toEqual({ text: 'ü€\r\n', thrown: undefined });
  });

  test('may have nothing in it', async () => {
    service.play({ pieces: [] });
    expect(await read(await client().transfers.export())).toEqual({ text: '', thrown: undefined });
  });

  test('may be read as slowly as one likes', async () => {
    service.play(WHOLE);
    let text = '';
    for await (const chunk of await client({ timeoutMilliseconds: 400 }).transfers.export()) {
      text += chunk;
      await new Promise((resolve) => setTimeout(resolve, 600));
    }
    expect(text).toBe(HEADINGS + ROWS.join(''));
  });

  test('that is left early is given up', async () => {
    const isClosed = new Promise<void>((resolve) => {
      service.onRequest = (request) => request.socket.once('close', () => resolve());
    });
    service.play({ pieces: [HEADINGS], ends: 'in silence' });
    for await (const chunk of await client().transfers.export()) {
      expect(chunk).toBe(HEADINGS);
      break;
    }
    await isClosed;
  });
});

describe('an export that breaks off', () => {
  test('throws, however much has come, and says by what to ask support', async () => {
    service.play({ pieces: [HEADINGS, ...ROWS], ends: 'cut' });
    const { text, thrown } = await read(await client().transfers.export());
    expect(HEADINGS + ROWS.join('')).toContain(text);
    expect(thrown).toBeInstanceOf(IncompleteAnswer);
    expect(thrown).toBeInstanceOf(ConnectionFailure);
    expect(thrown).toMatchObject({
      name: 'IncompleteAnswer',
      reason: 'lost',
      requestId: 'req_canned',
      moneyMoved: 'no',
      attempts: 1,
      baseUrl: service.url,
    });
    expect((thrown as Error).message).toContain('is not the whole answer');
    expect((thrown as Error).message).not.toContain('money');
    expect((thrown as Error).cause).toBeInstanceOf(Error);
    expect(service.received).toHaveLength(1);
  });

  test('within a character throws, even when the connection ends in order', async () => {
    service.play({ pieces: [Uint8Array.of(0x61, 0xe2, 0x82)] });
    const { text, thrown } = await read(await client().transfers.export());
    expect(text).toBe('a');
    expect(thrown).toBeInstanceOf(IncompleteAnswer);
  });

  test('by falling silent throws in time', async () => {
    service.play({ pieces: [HEADINGS], ends: 'in silence' });
    const { text, thrown } = await read(await client({ timeoutMilliseconds: 1_000 }).transfers.export());
    expect(text).toBe(HEADINGS);
    expect(thrown).toMatchObject({ name: 'IncompleteAnswer', reason: 'timeout', attempts: 1 });
    expect((thrown as Error).message).toContain('nothing more came');
    expect(service.received).toHaveLength(1);
  });

  test('because the caller gave up throws the reason', async () => {
    service.play({ pieces: [HEADINGS], ends: 'in silence' });
    const controller = new AbortController();
    const chunks = await client().transfers.export({}, { signal: controller.signal });
    setTimeout(() => controller.abort('enough'), 20);
    const { text, thrown } = await read(chunks);
    expect(text).toBe(HEADINGS);
    expect(thrown).toMatchObject({ name: 'IncompleteAnswer', reason: 'aborted', cause: 'enough' });
  });
});

describe('before the first piece', () => {
  test.each<[string, Canned]>([
    ['cut before the answer', 'cut before the answer'],
    ['cut between the head and the first piece', { pieces: [], ends: 'cut' }],
    [
      'refused for a moment',
      errorAnswer({ Status: 500, Code: 'unknown_export_transfers', Type: 'Server Error' }, { 'should-retry': 'true' }),
    ],
  ])('an export that was %s is asked for again', async (_, canned) => {
    service.play(canned, WHOLE);
    const chunks = await client().transfers.export();
    expect(chunks.response.attempts).toBe(2);
    expect(await read(chunks)).toEqual({ text: HEADINGS + ROWS.join(''), thrown: undefined });
  });

  test('silence is a ConnectionFailure, after as many attempts as for every read', async () => {
    service.play({ pieces: [], ends: 'in silence' });
    const impatient = client({ timeoutMilliseconds: 50, maximumRetries: 1 });
    const thrown = await impatient.transfers.export().catch((error: unknown) => error);
    expect(thrown).toMatchObject({ name: 'ConnectionFailure', reason: 'timeout', attempts: 2, moneyMoved: 'no' });
    expect(service.received).toHaveLength(2);
  });

  test.each([
    ['a Request Error', { Status: 404, Code: 'card_not_found', Type: 'Request Error' }, RequestError],
    ['a Server Error', { Status: 500, Code: 'unknown_export_postings', Type: 'Server Error' }, ServerError],
  ] as const)('%s is thrown as for every operation', async (_, record, kind) => {
    service.play(errorAnswer(record));
    const thrown = await client()
      .cards.exportPostings('card_1')
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(kind);
    expect(thrown).toMatchObject({ Code: record.Code, requestId: 'req_canned', attempts: 1 });
  });

  test.each<[string, Canned]>([
    ['a page', { status: 200, body: '<h1>Log in</h1>' }],
    ['a record', { status: 200, body: { data: [] } }],
  ])('%s in its place is an UnexpectedAnswer', async (_, canned) => {
    service.play(canned);
    await expect(client().transfers.export()).rejects.toThrow(UnexpectedAnswer);
    expect(service.received).toHaveLength(1);
  });
});
