import type { CaseRecord } from '../../../contract/support/cases.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { MAX_TEXT_CHARACTERS, type Side, statusAfter } from '../../../domain/support/case.ts';
import type { Call, JsonReply, Reply, Service } from '../../calls/call.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import {
  insertMessage,
  lockCase,
  noteTexts,
  readCase,
  readExternalMessage,
  type SupportCase,
  toMessage,
  updateCases,
  writeResolution,
} from '../../store/support/case.ts';
import { actorOf, auditOf } from '../audit/audit.ts';
import { resolve } from './end-case.ts';
import {
  caseIdOf,
  foundCase,
  keysOf,
  nameOf,
  programOf,
  readNameOf,
  replyWithinScopes,
  requireAllowed,
  toCaseRecord,
} from './record.ts';

type MessageId = 'reply_to_case' | 'answer_case' | 'answer_sandbox_case';

type Message = {
  readonly side: Side;
  readonly text: string;
  readonly externalAuthor: string | null;
  readonly externalId: string | null;
};

/** reply_to_case: adds a message from the caller and returns the case. Afterwards, support has to answer. */
export async function replyToCase(service: Service, call: Call<'reply_to_case'>): Promise<Reply<MessageId>> {
  return replyWithinScopes(await addMessage(service, call, { ...messageOf(call), side: 'caller' }), call.caller);
}

/** answer_case: adds a message from support and returns the case. Afterwards, the caller has to answer. */
export function answerCase(service: Service, call: Call<'answer_case'>): Promise<Reply<MessageId>> {
  return addMessage(service, call, { ...messageOf(call), side: 'support' });
}

const STANDARD_ANSWER = 'The sandbox sends this answer instead of support.';

/** answer_sandbox_case: adds a message or ends the case, as support does in live mode. */
export function answerSandboxCase(service: Service, call: Call<'answer_sandbox_case'>): Promise<Reply<MessageId>> {
  const { text = STANDARD_ANSWER, outcome } = call.body;
  if (outcome !== undefined) return resolve(service, call, { text, outcome });
  return addMessage(service, call, { side: 'support', text, externalAuthor: null, externalId: null });
}

function messageOf({ body }: Call<'reply_to_case' | 'answer_case'>): Omit<Message, 'side'> {
  const { text, external_author: author, external_id: externalId } = body;
  return { text, externalAuthor: author ?? null, externalId: externalId ?? null };
}

/**
 * Adds a message under the lock of its case. If an external system sends a message again, with the same id and text,
 * the case is returned unchanged.
 */
function addMessage(service: Service, call: Call<MessageId>, message: Message): Promise<JsonReply<CaseRecord>> {
  const caseId = caseIdOf(call);
  const programId = programOf(call);
  const { side, externalAuthor } = message;
  const text = withoutSecrets(message.text, MAX_TEXT_CHARACTERS);
  const externalId = message.externalId === null ? null : withoutSecrets(message.externalId);
  return transactUnderKey(service, call, {
    ...keysOf(call),
    load: {
      lock: lockCase(caseId, programId),
      found: readCase(caseId, programId),
      earlier: externalId === null ? null : readExternalMessage({ caseId, externalId }),
      // A program's key cannot read the names of keys, so its messages show the key's id.
      name: side === 'support' ? readNameOf(call.caller) : null,
    },
    decide: ({ found, earlier: [row], name }, { batchId, now }) => {
      const before = foundCase(call, found);
      if (row !== undefined) {
        const earlier = toMessage(row);
        if (earlier.side !== side || (earlier.text !== null && earlier.text !== text))
          throw duplicate(externalId ?? '');
        return { record: toCaseRecord(before), subjectId: caseId, writes: [] };
      }
      requireAllowed('write', before, now);
      const after = afterMessage(before, { messageId: idAt(now), side, externalId, now });
      const { messageCount: place, lastMessageId, programId: ofProgram } = after;
      const record = toCaseRecord(after);
      const json = JSON.stringify(record);
      const event = { type: 'case.replied' as const, programId: ofProgram, subjectId: record.case_id, payload: json };
      const added = {
        caseId,
        place,
        messageId: lastMessageId ?? '',
        programId: ofProgram,
        side,
        author: side === 'support' ? nameOf(call.caller, name) : actorOf(call.caller),
        text,
        externalAuthor: externalAuthor === null ? null : withoutSecrets(externalAuthor),
        externalId,
        createdAt: new Date(now),
      };
      const writes = [
        updateCases([after]),
        noteTexts(caseId),
        ...(before.status === 'resolved' ? [writeResolution({ caseIds: [caseId], resolution: null })] : []),
        insertMessage(added),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId: ofProgram, subjectId: record.case_id, details: json }),
      ];
      return { record, json, subjectId: caseId, writes };
    },
  });
}

/** Returns the case after a message. A message reopens a resolved case. */
function afterMessage(
  before: SupportCase,
  { messageId, side, externalId, now }: Pick<Message, 'side' | 'externalId'> & { messageId: string; now: number },
): SupportCase {
  const at = new Date(now);
  return {
    ...before,
    status: statusAfter(side),
    messageCount: before.messageCount + 1,
    lastMessageId: messageId,
    lastMessageSide: side,
    lastExternalId: externalId,
    outcome: null,
    updatedAt: at,
    firstResponseAt: before.firstResponseAt ?? (side === 'support' ? at : null),
    resolvedAt: null,
  };
}

function duplicate(externalId: string): Refusal {
  const message = `The case already has another message with the external_id '${externalId}'.`;
  return new Refusal('duplicate_external_id', message, { field: '/external_id' });
}
