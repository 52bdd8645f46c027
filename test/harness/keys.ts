import { KEY_SCOPES, PROGRAM_SCOPES } from '../../contract/scope.ts';
import type { TransferService } from '../../sdk/client.ts';
import { patientClient } from './client/patience.ts';

/** The body of create_key for a key of a card program with every scope that it can have. */
export function programKey(name: string, programId: string) {
  return { name, program_id: programId, scopes: [...PROGRAM_SCOPES] };
}

/** The body of create_key for a key that may do everything in every card program. */
export function operatorKey(name: string) {
  return { name, all_programs: true, scopes: [...KEY_SCOPES] };
}

/** A new key with its secret, which only a replay omits. */
export async function withSecret<Made extends { readonly key: string | null }>(
  making: Promise<Made>,
): Promise<Made & { readonly key: string }> {
  const made = await making;
  const { key } = made;
  if (key === null) throw new Error('a new key came without its secret');
  // The same object, because the response is attached to it.
  return Object.assign(made, { key });
}

/** The id of a new session of the console, of a new key. */
export async function newSession({ baseUrl, keys }: TransferService): Promise<string> {
  const { key } = await withSecret(keys.create({ name: 'of a session', role: 'viewer', all_programs: true }));
  const { session_id } = await patientClient(baseUrl, key).sessions.create();
  if (session_id === null) throw new Error('a new session has no id');
  return session_id;
}
