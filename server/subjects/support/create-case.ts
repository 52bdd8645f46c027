import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InspectedErrorRecord } from '../../../contract/error-log.ts';
import { type ErrorType, withoutSupport } from '../../../contract/errors/record.ts';
import type { RequestRecord } from '../../../contract/service/requests.ts';
import type { OperatorCaseSnapshot } from '../../../contract/support/cases.ts';
import type { TransferRecord } from '../../../contract/transfers.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { MAX_TEXT_CHARACTERS, urgencyOf } from '../../../domain/support/case.ts';
import { MONEY_MOVED, moneySentence } from '../../../domain/transfers/money-sentence.ts';
import { dependsOnProcessor } from '../../../domain/transfers/transfer.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { transferMissing } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { idAt } from '../../foundation/ids.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import { timeOfId } from '../../store/error.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { readLastAttempts, toAttempt } from '../../store/processors/attempt.ts';
import {
  insertCase,
  readCardsOfTransfers,
  readCaseOfRequest,
  type SupportCase,
  shareCards,
  toCase,
} from '../../store/support/case.ts';
import { readTransfer, toTransfer } from '../../store/transfers/transfer.ts';
import { actorOf, auditOf } from '../audit/audit.ts';
import { replyWithinScopes, toCaseRecord } from './record.ts';

/** Returns the effects of a request in the card program of the call. Throws `request_not_found`. */
export type FindRequest = (service: Service, call: Call<'create_case'>, sentId: string) => Promise<RequestRecord>;

type Subject = Pick<SupportCase, 'requestId' | 'transferId' | 'operation' | 'code' | 'moneyMoved'> & {
  readonly type: ErrorType | null;
  readonly summary: string | null;
  readonly snapshot: OperatorCaseSnapshot | null;
  readonly cardNames: readonly string[];
};

/** Maximum length of the beginning of the case's text that the queue shows, in characters. */
const MAX_SUMMARY = 200;

/**
 * If a request younger than this is not found, it is looked up again. It may have taken six seconds, and its error is stored within
 * a second of its response, or a few seconds on a slow machine.
 */
const STORED_AFTER_MILLISECONDS = 9000;
const AGAIN_MILLISECONDS = 200;

/** Time reserved for the transaction of the case, in milliseconds. */
const TRANSACTION_MILLISECONDS = 1000;

/**
 * create_case: returns a new case, or the open case that the request already has. The case stores everything that is now known
 * about its request or transfer, because the error log and the transfer may later lack facts that support needs.
 */
export async function createCase(
  find: FindRequest,
  service: Service,
  call: Call<'create_case'>,
): Promise<Reply<'create_case'>> {
  const { programId, body } = call;
  const subject = await subjectOf(find, service, call);
  const { requestId, cardNames, summary, snapshot, ...about } = subject;
  const reply = await transactUnderKey(service, call, {
    programId,
    names: requestId === null ? [] : [{ programId, kind: 'case', name: requestId }],
    load: {
      cards: cardNames.length === 0 ? null : shareCards({ programId, names: cardNames }),
      known: requestId === null ? null : readCaseOfRequest({ programId, requestId }),
    },
    decide: ({ known: [row] }, { batchId, now }) => {
      if (row !== undefined) {
        const known = toCase(row);
        return { record: toCaseRecord(known), subjectId: known.caseId, existing: true, writes: [] };
      }
      const createdAt = new Date(now);
      const { severity = 'normal' } = body;
      const opened: SupportCase = {
        ...NEW,
        ...about,
        caseId: idAt(now),
        programId,
        severity,
        urgency: urgencyOf({ ...about, severity }),
        requestId,
        createdBy: actorOf(call.caller),
        createdAt,
        updatedAt: createdAt,
      };
      const texts = {
        text: body.text === undefined ? null : withoutSecrets(body.text, MAX_TEXT_CHARACTERS),
        contact: body.contact === undefined ? null : withoutSecrets(body.contact),
        resolution: null,
        summary,
        snapshot,
        cardNames,
      };
      const record = toCaseRecord(opened);
      const json = JSON.stringify(record);
      const event = { type: 'case.opened' as const, programId, subjectId: record.case_id, payload: json };
      const writes = [
        insertCase({ ...opened, ...texts }),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: record.case_id, details: json }),
      ];
      return { record, json, subjectId: opened.caseId, writes };
    },
  });
  return replyWithinScopes(reply, call.caller);
}

const NEW = {
  status: 'open',
  incidentId: null,
  messageCount: 0,
  lastMessageId: null,
  lastMessageSide: null,
  lastExternalId: null,
  outcome: null,
  firstResponseAt: null,
  resolvedAt: null,
  closedAt: null,
} as const;

async function subjectOf(find: FindRequest, service: Service, call: Call<'create_case'>): Promise<Subject> {
  const { request_id: requestId, transfer_id: transferId, text } = call.body;
  if (requestId !== undefined && transferId !== undefined) {
    const message = "A case is about a request or a transfer: send 'request_id' or 'transfer_id', not both.";
    throw schemaRefusal(call, message, '/transfer_id');
  }
  if (requestId !== undefined) {
    const subject = subjectOfRequest(await findSoon(find, service, call, requestId));
    return { ...subject, cardNames: await withCardsOfTransfer(service, call.programId, subject) };
  }
  if (transferId !== undefined) return subjectOfTransfer(service, call, transferId);
  if (text === undefined) {
    const message = "The required field 'text' is missing. Send a 'request_id', a 'transfer_id' or a 'text'.";
    throw schemaRefusal(call, message, '/text');
  }
  const start = withoutSecrets(text, MAX_TEXT_CHARACTERS).trimStart().split('\n', 1)[0] ?? '';
  const summary = start.length > MAX_SUMMARY ? `${start.slice(0, MAX_SUMMARY).toWellFormed()}…` : start;
  return { ...NOTHING, requestId: null, transferId: null, summary, snapshot: null, cardNames: [] };
}

const NOTHING = { operation: null, code: null, type: null, moneyMoved: null } as const;

/**
 * Returns the effects of a request. If the request has just ended, keeps looking until its error is stored or the time is up.
 */
async function findSoon(
  find: FindRequest,
  service: Service,
  call: Call<'create_case'>,
  sentId: string,
): Promise<RequestRecord> {
  const requestId = fromWireId('req', sentId);
  const until = requestId === undefined ? 0 : timeOfId(requestId).getTime() + STORED_AFTER_MILLISECONDS;
  for (;;) {
    try {
      return await find(service, call, sentId);
    } catch (thrown) {
      const left = until - databaseTime();
      const mayCome = thrown instanceof Refusal && left > 0 && left <= STORED_AFTER_MILLISECONDS;
      const isInTime = performance.now() + AGAIN_MILLISECONDS + TRANSACTION_MILLISECONDS < call.deadline;
      if (!mayCome || !isInTime || call.isGone?.(false) === true) throw thrown;
    }
    await sleep(AGAIN_MILLISECONDS, undefined, { ref: false });
  }
}

function subjectOfRequest(found: RequestRecord): Subject {
  const { error, received_at, transfers } = found;
  const summary = withoutSupport(found.summary);
  const [transfer = null] = transfers;
  const sentId = error?.transfer_id ?? transfer?.transfer_id ?? null;
  return {
    requestId: fromWireId('req', found.request_id) ?? null,
    transferId: sentId === null ? null : (fromWireId('tr', sentId) ?? null),
    operation: found.operation,
    code: error?.code ?? null,
    type: error?.type ?? null,
    moneyMoved: found.money_moved,
    summary,
    snapshot: { taken_at: takenAt(), summary, received_at, error, transfer },
    cardNames: cardNamesOf(error, transfers),
  };
}

async function subjectOfTransfer(service: Service, call: Call<'create_case'>, sentId: string): Promise<Subject> {
  const transferId = fromWireId('tr', sentId);
  const [row] =
    transferId === undefined ? [] : await readRows(service.database, readTransfer(call.programId, transferId));
  if (row === undefined || transferId === undefined) throw transferMissing(sentId);
  const found = toTransfer(row);
  const transfer = toTransferRecord(found);
  const code = transfer.error?.Code ?? null;
  const asked = dependsOnProcessor(found) ? await readRows(service.database, readLastAttempts([found])) : [];
  const [attempt = null] = asked.map(toAttempt);
  const { sentence, moved } = moneySentence({ ...found, errorCode: code, attempt }, databaseTime());
  return {
    requestId: null,
    transferId,
    operation: 'create_transfer',
    code,
    type: transfer.error?.Type ?? null,
    moneyMoved: MONEY_MOVED[moved],
    summary: sentence,
    snapshot: { taken_at: takenAt(), summary: sentence, received_at: null, error: null, transfer },
    cardNames: cardNamesOf(null, [transfer]),
  };
}

/** Returns the names of the cards of a subject and its transfer. The details of a refused reversal name only the transfer. */
async function withCardsOfTransfer(
  { database }: Service,
  programId: string,
  { transferId, cardNames }: Subject,
): Promise<readonly string[]> {
  if (transferId === null) return cardNames;
  const rows = await readRows(database, readCardsOfTransfers([{ programId, transferId }]));
  return [...new Set([...cardNames, ...rows.map(({ name }) => String(name))])].sort();
}

const takenAt = (): string => new Date(databaseTime()).toISOString();

/** Returns the cards of the transfers, and all cards that the failed request names, for example in the rows of a batch. */
function cardNamesOf(error: InspectedErrorRecord | null, transfers: readonly TransferRecord[]): readonly string[] {
  const names = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'string' && /(?:^|_)card_id$/.test(name)) names.add(member);
      else collect(member);
    }
  };
  collect(error);
  collect(transfers.map(({ card_id, destination_card_id }) => ({ card_id, destination_card_id })));
  return [...names].sort();
}
