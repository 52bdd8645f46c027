import { KEY_SCOPES, PROGRAM_SCOPES } from '../../domain/scope.ts';

/** What create_key is sent for a key of a card program with every scope that it can have. */
export function programKey(name: string, programId: string) {
  return { name, program_id: programId, scopes: [...PROGRAM_SCOPES] };
}

/** What create_key is sent for a key that may do everything in every card program. */
export function operatorKey(name: string) {
  return { name, all_programs: true, scopes: [...KEY_SCOPES] };
}
