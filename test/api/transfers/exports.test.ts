import { connect } from 'node:net';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { IncompleteResponse, type TextChunks } from '../../../sdk/client.ts';
import { createAll, patiently } from '../../harness/client/patience.ts';
import { embeddedServerOf, waitFor } from '../../harness/process.ts';
import { expectBalancedBooks, useOwnService } from '../../harness/service.ts';
import { newCard } from '../arrange.ts';

/**
 * The number and width of the lines in the long export. They total a hundred megabytes, more than all buffers between
 * two sockets hold.
 */
const ROWS = 20_000;
const WIDTH = 5_000;

/** Limits the service's memory to less than the long export needs. */
const HEAP = '--max-old-space-size=96';

const TRANSFER_HEAD =
  'transfer_id,program_id,card_id,destination_card_id,type,amount,captured_amount,reversed_amount,currency,status,' +
  'outcome,capture,expires_at,scheduled_for,description,reference,metadata,error,created_at,updated_at,completed_at,' +
  'request_id,idempotency_key,created_by';

const service = useOwnService('It needs a small heap.', { NODE_OPTIONS: HEAP });
const client = () => service().client;

async function textOf(chunks: Promise<TextChunks>): Promise<string> {
  return (await Array.fromAsync(await chunks)).join('');
}

/** Reads comma-separated values as RFC 4180 specifies. Fails if a line does not end or lacks a column. */
function readCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const fields = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  const lines: string[][] = [[]];
  while (fields.lastIndex < text.length) {
    const found = fields.exec(text);
    if (found === null) throw new Error('The text is not valid comma-separated values.');
    const [, quoted, plain = '', end] = found;
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === '\r\n') lines.push([]);
  }
  expect(lines.pop()).toEqual([]);
  const [names = [], ...rows] = lines;
  return rows.map((row) => {
    expect(row).toHaveLength(names.length);
    return Object.fromEntries(names.map((name, index) => [name, row[index] ?? '']));
  });
}

function lineOf(record: object): Readonly<Record<string, string>> {
  const shown = (value: unknown): string => {
    if (value === null) return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, shown(value)]));
}

describe('an export', () => {
  test('has the rows of the list, oldest first, with every field and all kinds of characters', async () => {
    const card_id = await newCard(client());
    const texts = ['"quoted", and a comma', 'two\nlines', 'two\r\nmore', ' blanks around ', '=1+1', '-1', 'žluť €'];
    for (const description of texts) {
      await client().transfers.create({ amount: 5, card_id, description, metadata: { note: description, empty: '' } });
    }
    await client().transfers.create({ amount: 5, card_id, capture: 'manual' });
    const { data } = await client().transfers.list({ card_id });
    const text = await textOf(client().transfers.export({ card_id, raw: true }));
    expect(text.split('\r\n')[0]).toBe(TRANSFER_HEAD);
    expect(readCsv(text)).toEqual([...data].reverse().map(lineOf));
  });

  test('has no text that a spreadsheet reads as a formula, unless raw text is requested', async () => {
    const card_id = await newCard(client());
    const formulas = ['=1+1', '+1+1', '-1+1', '@SUM(A1)', '＝1', '=HYPERLINK("http://a.test","b")'];
    for (const description of [...formulas, '-1', '1=1'])
      await client().transfers.create({ amount: 5, card_id, description, reference: `=${card_id}${description}` });
    const texts = async (raw?: boolean) => {
      const exports = [client().transfers.export({ card_id, raw }), client().cards.exportPostings(card_id, { raw })];
      return Promise.all(exports.map(async (text) => readCsv(await textOf(text)).map((line) => line.description)));
    };
    const neutral = [...formulas.map((text) => `'${text}`), '-1', '1=1'];
    expect(await texts()).toEqual([neutral, neutral]);
    expect(await texts(false)).toEqual([neutral, neutral]);
    expect(await texts(true)).toEqual([
      [...formulas, '-1', '1=1'],
      [...formulas, '-1', '1=1'],
    ]);
    const lines = readCsv(await textOf(client().transfers.export({ card_id })));
    expect(lines.every(({ reference }) => reference?.startsWith("'="))).toBe(true);
  });

  test("accepts the list's filters, and may contain no rows", async () => {
    const card_id = await newCard(client(), 100);
    const { transfer_id } = await client().transfers.create({ amount: 7, card_id, type: 'unload' });
    const lines = readCsv(await textOf(client().transfers.export({ card_id, type: 'unload', maximum_amount: 7 })));
    expect(lines.map((line) => line.transfer_id)).toEqual([transfer_id]);
    expect(await textOf(client().transfers.export({ card_id, status: 'failed' }))).toBe(`${TRANSFER_HEAD}\r\n`);
  });

  test('has only the header line for a program without transfers', async () => {
    const { program_id } = await client().programs.create({ name: 'Empty', currency: 'USD' });
    expect(await textOf(client().transfers.export({}, { programId: program_id }))).toBe(`${TRANSFER_HEAD}\r\n`);
  });

  test('has the lines of a statement, oldest first, over several pages and for a period', async () => {
    const card_id = await newCard(client());
    for (const part of [0, 1, 2]) {
      const rows = Array.from({ length: 900 }, (_, index) => ({
        amount: 1 + index,
        card_id,
        idempotency_key: `${card_id}_${part}_${index}`,
      }));
      await createAll(client(), rows);
    }
    const all = await Array.fromAsync(client().cards.postingsAll(card_id, { limit: 100 }));
    const lines = readCsv(await textOf(client().cards.exportPostings(card_id)));
    expect(lines).toHaveLength(2700);
    expect(lines).toEqual(all.reverse().map(lineOf));
    const created_from = all[1500]?.created_at ?? '';
    const later = readCsv(await textOf(client().cards.exportPostings(card_id, { created_from })));
    expect(later).toEqual(lines.filter((line) => (line.created_at ?? '') >= created_from));
    expect((await client().cards.exportPostings('card_empty')).response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="postings-\d{4}-\d{2}-\d{2}\.csv"$/,
    );
  });

  test('completes while transfers are arriving, and contains every earlier transfer', async () => {
    const card_id = await newCard(client());
    const add = async () => (await client().transfers.create({ amount: 1, card_id })).transfer_id;
    const before: string[] = [];
    for (let count = 0; count < 20; count += 1) before.push(await add());
    let done = false;
    const adding = (async () => {
      while (!done) await add();
    })();
    const text = textOf(client().transfers.export({ card_id })).finally(() => {
      done = true;
    });
    const [lines] = await Promise.all([text.then(readCsv), adding]);
    expect(lines.map((line) => line.transfer_id).slice(0, 20)).toEqual(before);
    await expectBalancedBooks(service());
  });

  test('takes turns with other exports, and does not block other requests', async () => {
    const card_id = await newCard(client(), 1);
    // A slow machine refuses some of these many requests before they begin.
    const read = () => patiently(() => textOf(client().transfers.export({ card_id })));
    const others = Promise.all(Array.from({ length: 60 }, read));
    const get = () => patiently(() => client().cards.get(card_id));
    const cards = await Promise.all(Array.from({ length: 20 }, get));
    expect(cards.map(({ balance }) => balance)).toEqual(Array.from({ length: 20 }, () => 1));
    for (const text of await others) expect(readCsv(text)).toHaveLength(1);
  });

  test('is refused over HTTP/1.0', async () => {
    const { port } = new URL(service().url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('GET /api/v0.1/core/card/card_active/posting/export HTTP/1.0\r\nHost: localhost\r\n\r\n');
    const response = Buffer.concat(await Array.fromAsync(socket)).toString();
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(response).toContain('"Code":"export_postings_schema"');
  });
});

describe('a long export', () => {
  let program_id = '';

  /** Inserts the transfers as rows without money, because creating so many through requests takes too long. */
  beforeAll(async () => {
    ({ program_id } = await client().programs.create({ name: 'Long', currency: 'USD' }));
    await client().cards.create({ card_id: 'wide' }, { programId: program_id });
    const { databaseUrl } = await embeddedServerOf(service().directory);
    const store = new pg.Client({ connectionString: databaseUrl });
    await store.connect();
    await store.query(
      `insert into transfer (program_id, transfer_id, type, card_id, amount, captured_amount, currency, status, outcome,
         capture, metadata, request_id, created_at, updated_at)
       select program_id, (left(uuid_at(now() - interval '1 day' + number * interval '1 second')::text, 24)
           || right(gen_random_uuid()::text, 12))::uuid, 'load', card_id, number, 0, 'USD', 'canceled', 'final',
         'automatic', jsonb_build_object('wide', repeat('x', $1)), gen_random_uuid(), now(), now()
       from card, generate_series(1, $2) as number where name = 'wide'`,
      [WIDTH, ROWS],
    );
    await store.end();
  });

  const begin = async () => {
    const chunks = await client().transfers.export({}, { programId: program_id });
    await chunks.next();
    return chunks;
  };

  test('arrives completely in constant memory', async () => {
    let bytes = 0;
    let last = '';
    for await (const piece of await client().transfers.export({}, { programId: program_id })) {
      bytes += piece.length;
      last = `${last}${piece}`.slice(-2 * WIDTH);
    }
    expect(bytes).toBeGreaterThan(ROWS * WIDTH);
    expect(last).toContain(`,load,${ROWS},`);
  });

  test("is cut off when the database stops, and the error log gives the reason under the export's request id", async () => {
    const chunks = await begin();
    await service().database.stop();
    const cut = await Array.fromAsync(chunks).then(
      () => undefined,
      (error: unknown) => error,
    );
    await service().database.start();
    if (!(cut instanceof IncompleteResponse)) throw new Error(`the export was not cut off: ${String(cut)}`);
    expect(cut.requestId).toMatch(/^req_/);
    const look = () =>
      client()
        .errors.inspect(cut.requestId ?? '')
        .catch(() => undefined);
    await waitFor('the error to be logged', async () => (await look()) !== undefined);
    expect(await look()).toMatchObject({
      code: 'unknown_export_transfers',
      operation: 'export_transfers',
      status: 500,
      program_id,
    });
  });

  test('ends when its caller disconnects', async () => {
    const chunks = await begin();
    await chunks.return();
    expect((await client().transfers.list({ limit: 1 }, { programId: program_id })).data).toHaveLength(1);
  });

  test('is cut off when the service stops, and does not wait for a caller that reads nothing', async () => {
    const chunks = await begin();
    // The test reads nothing during the stop, so the export cannot complete even on a fast machine.
    expect(await service().stop()).toBe(0);
    const cut = await Array.fromAsync(chunks).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(cut instanceof IncompleteResponse)) throw new Error(`the export was not cut off: ${String(cut)}`);
    // The stop ended the export, not the limit of half a minute for a caller that reads nothing.
    const logged = service().errors().split('\n');
    expect(logged.find((line) => line.includes(cut.requestId ?? 'no request id'))).toContain(
      'The service closed before the operation finished.',
    );
  });
});
