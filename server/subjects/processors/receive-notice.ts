import { readsAsCardNumber, redactCardNumbers } from '../../../domain/cards/card-number.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Service } from '../../calls/service.ts';
import { insertNotice } from '../../store/processors/notices.ts';

/**
 * receive_notice: stores what the processor says by itself; the signature was verified before. What follows from it is decided
 * later, so that the adapter need not wait for it, and a notice may come before the answer that it repeats. The same notice
 * again changes nothing. One about an attempt that this connector does not have is stored too, for a person to look at.
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
  const added = await readRows(database, insertNotice({ connectorId, noticeId, sentAttemptId, body }));
  if (added.length > 0) processors.wake();
  return { record: { received: true } };
}

function refuseCardNumber(name: 'notice_id' | 'attempt_id', value: string): void {
  if (!readsAsCardNumber(value)) return;
  const message = `'${name}' looks like a card number, which the service does not accept.`;
  throw new Refusal('card_number_refused', message, { field: `/${name}` });
}

/** A reference can look like a card number by chance. It is redacted: a refusal would lose for ever what the processor says. */
function withoutCardNumbers(text: string | null): string | null {
  return text === null ? null : redactCardNumbers(text);
}
