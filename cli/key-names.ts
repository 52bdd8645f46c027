import { includesScope } from '../contract/scope.ts';
import type { Fetch, TransferService } from '../sdk/client.ts';

/** The id of a key in the fields that say who did something. In a text of a caller, the quotes would be escaped. */
const DONE_BY = /"(actor|author|caller|closed_by|created_by|resolved_by)":"(key_[0-9a-f]{32})"/g;

/** The largest page of keys. */
const PAGE_SIZE = 100;

/**
 * Calls `fetch`, and puts the names of keys in the place of their ids in responses: for people, who know each other by
 * name. The end of the id stays, because names are not unique. A name that cannot be read leaves the id.
 */
export function withKeyNames(fetch: Fetch, service: TransferService): Fetch {
  let reading: Promise<ReadonlyMap<string, string>> | undefined;
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok || !/^application\/json\b/i.test(response.headers.get('content-type') ?? '')) return response;
    const text = await response.text();
    const { status, statusText, headers } = response;
    if (!new RegExp(DONE_BY).test(text)) return new Response(text, { status, statusText, headers });
    reading ??= readNames(service).catch(() => new Map());
    const names = await reading;
    const named = text.replaceAll(DONE_BY, (whole, field: string, id: string) => {
      const name = names.get(id);
      return name === undefined ? whole : `"${field}":${JSON.stringify(`${name} (…${id.slice(-6)})`)}`;
    });
    return new Response(named, { status, statusText, headers });
  };
}

/** The names that the caller may read: of its own key, and with the scope for that those of all keys. */
async function readNames(service: TransferService): Promise<ReadonlyMap<string, string>> {
  const { key_id: ownId, key_name: ownName, scopes } = await service.sessions.current();
  const names = new Map(ownId !== null && ownName !== null ? [[ownId, ownName]] : []);
  // Without the scope the request would be refused, and recorded as an error of the caller.
  if (!includesScope(scopes, 'operator:read')) return names;
  let cursor: string | undefined;
  do {
    const page = await service.keys.list({ limit: PAGE_SIZE, cursor });
    for (const { key_id: id, name } of page.data) names.set(id, name);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return names;
}
