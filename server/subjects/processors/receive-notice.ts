import { readsAsCardNumber, redactCardNumbers } from '../../../domain/cards/card-number.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { readRows, writeRows } from '../../calls/read-rows.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database } from '../../store/connection/database.ts';
import { insertBreak, insertBreakOfUnknown } from '../../store/processors/contradiction.ts';
import { insertNotice, readNotice, saidBy, toNotice } from '../../store/processors/notices.ts';

/**
 * receive_notice: stores a message that the processor sends without being asked. Its signature is already verified. A job handles
 * it later, so the adapter does not have to wait. A notice may come before the answer that it repeats. Repeating a notice changes
 * nothing. A different notice with the same id is refused, and recorded as a break for an operator. A notice about an attempt
 * that this connector does not have is also stored.
 */
export async function receiveNotice(
  { database, processors }: Service,
  call: Call<'receive_notice'>,
): Promise<Reply<'receive_notice'>> {
  const { connector_id: connectorId } = call.params;
  const { notice_id: noticeId, ...sent } = call.body;
  refuseCardNumber('notice_id', noticeId);
  refuseCardNumber('attempt_id', sent.attempt_id);
  const body = {
    ...sent,
    processor_reference: withoutCardNumbers(sent.processor_reference),
    code: withoutCardNumbers(sent.code),
  };
  const sentAttemptId = fromWireId('pat', sent.attempt_id) ?? null;
  const added = await writeRows(database, insertNotice({ connectorId, noticeId, sentAttemptId, body }));
  if (added.length > 0) processors.wake();
  else await refuseOther(database, { connectorId, noticeId, sentAttemptId, body });
  return { record: { received: true } };
}

/** Refuses a notice that has the id of an earlier notice but different content, and records the break. */
async function refuseOther(database: Database, sent: Parameters<typeof readNotice>[0]): Promise<void> {
  const [stored] = (await readRows(database, readNotice(sent))).map(toNotice);
  if (stored === undefined || stored.isSame) return;
  const { connectorId, noticeId, body } = sent;
  const found = {
    ...{ breakId: newId(), kind: 'reused_notice_id' as const, connectorId, createdAt: stored.now },
    ...{ expected: saidBy(stored.body), found: `${saidBy(body)} (notice ${noticeId})`, statedAmount: null },
  };
  const { attempt } = stored;
  if (attempt === undefined) {
    const { attempt_id: sentAttemptId, amount, currency } = body;
    await writeRows(database, insertBreakOfUnknown({ ...found, sentAttemptId, amount: BigInt(amount), currency }));
  } else {
    const { programId, attemptId, transferId, amount, currency } = attempt;
    await writeRows(database, insertBreak({ ...found, programId, attemptId, transferId, amount, currency }));
  }
  const message = `An earlier notice has the notice_id '${noticeId}' and different contents. Give each notice its own id.`;
  throw new Refusal('notice_id_reused', message, { field: '/notice_id' });
}

function refuseCardNumber(name: 'notice_id' | 'attempt_id', value: string): void {
  if (!readsAsCardNumber(value)) return;
  const message = `'${name}' looks like a card number, which the service does not accept.`;
  throw new Refusal('card_number_refused', message, { field: `/${name}` });
}

/**
 * Redacts a reference that happens to look like a card number. If it were refused, the processor's message would be lost forever.
 */
function withoutCardNumbers(text: string | null): string | null {
  return text === null ? null : redactCardNumbers(text);
}
