import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { sendRaw } from '../../../test/harness/raw-request.ts';
import type { KillableServices } from '../../environments/processes/killable-services.ts';

/** The card program of the load, and the card program of the callers. */
export type Programs = { readonly demo: string; readonly other: string };

/** Creates the second program with enough money for all callers. */
export async function makePrograms({ owner }: Pick<KillableServices, 'owner'>): Promise<Programs> {
  const path = '/api/v0.1/operator/program';
  const made = await sendRaw(owner.url, { path, body: { name: 'The second program', currency: 'USD' } });
  const other = String(made.fields.program_id);
  const headers = { 'Idempotency-Key': 'second-program' };
  const funded = await sendRaw(owner.url, {
    path: `${path}/${other}/deposit`,
    headers,
    body: { amount: 1_000_000_000 },
  });
  if (funded.status !== 201) throw new Error(`the second program could not be created: ${made.text} ${funded.text}`);
  return { demo: DEMO_PROGRAM, other };
}

/** The UUID of a program on the wire. */
export function uuidOf(programId: string): string {
  return fromWireId('prog', programId) ?? '';
}
