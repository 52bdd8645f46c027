import { KEY_SCOPES, PROGRAM_SCOPES } from '../../contract/scope.ts';
import type { TransferService } from '../../sdk/client.ts';
import { patientClient } from './client/patience.ts';

/** Returns the body of create_key for a card program's key with all possible scopes. */
export function programKey(name: string, programId: string) {
  return { name, program_id: programId, scopes: [...PROGRAM_SCOPES] };
}

/** Returns the body of create_key for a key with all scopes in all card programs. */
export function operatorKey(name: string) {
  return { name, all_programs: true, scopes: [...KEY_SCOPES] };
}

/** Returns a new key with its secret. Only the record from a replay lacks the secret. */
export async function withSecret<Made extends { readonly key: string | null }>(
  making: Promise<Made>,
): Promise<Made & { readonly key: string }> {
  const made = await making;
  const { key } = made;
  if (key === null) throw new Error('the response with the new key has no secret');
  // Returns the same object, because the response is attached to it.
  return Object.assign(made, { key });
}

/** Creates a key and a console session that uses it, and returns the session's id. */
export async function newSession({ baseUrl, keys }: TransferService): Promise<string> {
  const { key } = await withSecret(keys.create({ name: 'of a session', role: 'viewer', all_programs: true }));
  const { session_id } = await patientClient(baseUrl, key).sessions.create();
  if (session_id === null) throw new Error('a new session has no id');
  return session_id;
}
