import { type ApiKey, listKeys as listKeysStatement, toApiKey } from '../store/key.ts';
import type { Call, Reply } from './call.ts';
import { answerPage } from './page.ts';
import { toKeyRecord } from './records.ts';
import type { Service } from './service.ts';

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
