import { randomUUIDv7 } from 'node:crypto';
import type { CreateKeyBody } from '../../contract/operator-schemas.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { insertEvents } from '../store/event.ts';
import { type ApiKey, insertKey } from '../store/key.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { newKey } from './api-key.ts';
import type { Call, Reply } from './call.ts';
import { loadProgram } from './program-funding.ts';
import { toKeyRecord } from './records.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

/** create_key: 201 with the key; its secret is in this answer and nowhere else. */
export async function createKey(service: Service, call: Call): Promise<Reply> {
  const body = call.members as CreateKeyBody;
  const { program_id: asked } = body;
  const program = asked === undefined ? undefined : await loadProgram(service, fromWireId('prog', asked), asked);
  const { key, publicPart, secretHash } = newKey();
  const record = await transact(service.database, call.deadline, { clock: READ_SWITCH }, (loaded, batchId) => {
    const { now } = toSwitchReading(loaded.clock);
    const kept: ApiKey = {
      keyId: randomUUIDv7(),
      publicPart,
      secretHash,
      programId: program?.programId ?? null,
      name: body.name,
      createdAt: new Date(now),
      expiresAt: expiryOf(body, now),
      revokedAt: null,
    };
    const shown = toKeyRecord(kept);
    const event = {
      type: 'key.created' as const,
      programId: kept.programId,
      subjectId: shown.key_id,
      payload: JSON.stringify(shown),
    };
    return { result: shown, writes: [insertKey(kept), insertEvents(batchId, [event], now)] };
  });
  return { status: 201, body: JSON.stringify({ ...record, key }) };
}

function expiryOf(body: CreateKeyBody, now: number): Date | null {
  if (body.expires_at === undefined) return null;
  const expiry = Date.parse(body.expires_at);
  if (expiry > now) return new Date(expiry);
  const message = `'expires_at' is '${body.expires_at}', which is not in the future.`;
  throw new Refusal('create_key_schema', message, { field: '/expires_at' });
}
