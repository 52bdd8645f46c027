import { expect, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { NameBook, type NamedKind } from './name-book.ts';

const idOf = (prefix: string, number: number): string => `${prefix}_${String(number).padStart(32, '0')}`;

/**
 * Returns a service with this many programs, keys and webhooks, in pages like those of the real lists. `paths` has the
 * requests that it received.
 */
function serviceOf(count: number) {
  const paths: string[] = [];
  const rows = (prefix: string, more: (number: number) => object) =>
    Array.from({ length: count }, (_, number) => ({ [`${FIELDS[prefix]}_id`]: idOf(prefix, number), ...more(number) }));
  const lists: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
    program: rows('prog', (number) => ({ name: `Program ${number}` })),
    key: rows('key', (number) => ({ name: `Key ${number}` })),
    webhook: rows('wh', (number) => ({ description: `Webhook ${number}`, url: 'https://shop.test' })),
  };
  const answer = (url: URL): [status: number, body: unknown] => {
    const [kind = '', id] = url.pathname.split('/').slice(4);
    const list = lists[kind] ?? [];
    if (id !== undefined) {
      const one = list.find((row) => row[`${kind}_id`] === id);
      return one === undefined ? [404, {}] : [200, one];
    }
    const limit = Number(url.searchParams.get('limit'));
    const start = Number(url.searchParams.get('cursor') ?? 0);
    const next = start + limit < list.length ? String(start + limit) : null;
    return [200, { data: list.slice(start, start + limit), next_cursor: next }];
  };
  const api = new TransferService({
    baseUrl: 'http://service.test',
    maxRetries: 0,
    fetch: async (sent) => {
      const url = new URL(sent);
      paths.push(url.pathname);
      const [status, body] = answer(url);
      return Response.json(body, { status });
    },
  });
  return { api, paths };
}

const FIELDS: Readonly<Record<string, string>> = { prog: 'program', key: 'key', wh: 'webhook' };

async function nameIn(book: NameBook, kind: NamedKind, id: string): Promise<string | undefined> {
  const subject = { kind, id, programId: undefined };
  await new Promise<void>((resolve) => {
    const stop = book.watch(subject, () => {
      stop();
      resolve();
    });
    if (!book.read(subject).isLoading) resolve();
  });
  return book.read(subject).name;
}

const MANY = 1_234;

test.each([
  ['program', 'prog', 'Program 1233'],
  ['key', 'key', 'Key 1233'],
  ['webhook', 'wh', 'Webhook 1233'],
] as const)('finds the name of a %s beyond the first thousand, and reads it once', async (kind, prefix, name) => {
  const { api, paths } = serviceOf(MANY);
  const book = new NameBook(api, () => true);
  expect(await nameIn(book, kind, idOf(prefix, MANY - 1))).toBe(name);
  const { length } = paths;
  expect(await nameIn(book, kind, idOf(prefix, MANY - 1))).toBe(name);
  expect(paths).toHaveLength(length);
});

test('does not request a webhook that is missing from a complete list', async () => {
  const { api, paths } = serviceOf(3);
  expect(await nameIn(new NameBook(api, () => true), 'webhook', idOf('wh', 7))).toBeUndefined();
  expect(paths).toEqual(['/api/v0.1/operator/webhook']);
});
