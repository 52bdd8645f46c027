import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import type { Service } from '../../calls/service.ts';
import { listKeys as listStatement, toApiKey } from '../../store/key.ts';
import { toKeyRecord } from './record.ts';

/** list_keys: a page, newest first, without secrets. */
export async function listKeys(service: Service, call: Call<'list_keys'>): Promise<Reply<'list_keys'>> {
  const record = await readPage(service, call, {
    prefix: 'key',
    statement: listStatement,
    read: toApiKey,
    idOf: (key) => key.keyId,
    show: toKeyRecord,
  });
  return { record };
}
