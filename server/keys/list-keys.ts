import type { Call, Reply } from '../operations/call.ts';
import { answerPage } from '../operations/page.ts';
import { toKeyRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { type ApiKey, listKeys as listKeysStatement, toApiKey } from '../store/key.ts';

/** list_keys: a page, newest first, without secrets. */
export function listKeys(service: Service, call: Call): Promise<Reply> {
  return answerPage<ApiKey>(service, call, {
    prefix: 'key',
    statement: listKeysStatement,
    read: toApiKey,
    idOf: (key) => key.keyId,
    show: toKeyRecord,
  });
}
