import { KEY_SCOPES, PROGRAM_SCOPES } from '../../contract/scope.ts';

/** What create_key is sent for a key of a card program with every scope that it can have. */
export function programKey(name: string, programId: string) {
  return { name, program_id: programId, scopes: [...PROGRAM_SCOPES] };
}

/** What create_key is sent for a key that may do everything in every card program. */
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
  // The same object, because what the response said beside the record is attached to it.
  return Object.assign(made, { key });
}
