import { MAX_TEXT_CHARACTERS, type Outcome } from '../../../domain/support/case.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { lockCase, readCase, type SupportCase, updateCases, writeResolution } from '../../store/support/case.ts';
import { auditOf } from '../audit/audit.ts';
import { caseIdOf, foundCase, keysOf, programOf, replyWithinScopes, requireAllowed, toCaseRecord } from './record.ts';

type ResolveId = 'resolve_case' | 'answer_sandbox_case';

/** The findings and actions of support, and the outcome. */
type Resolution = { readonly text: string; readonly outcome: Outcome };

export function resolveCase(service: Service, call: Call<'resolve_case'>): Promise<Reply<ResolveId>> {
  return resolve(service, call, call.body);
}

/** Resolves the case in the path. Throws `invalid_case_status` if it is already resolved or closed. */
export function resolve(
  service: Service,
  call: Call<ResolveId>,
  { text, outcome }: Resolution,
): Promise<Reply<ResolveId>> {
  const caseId = caseIdOf(call);
  return transactUnderKey(service, call, {
    load: { lock: lockCase(caseId, null), found: readCase(caseId, null) },
    decide: ({ found }, { batchId, now }) => {
      const before = foundCase(call, found);
      requireAllowed('resolve', before, now);
      const after = afterResolution(before, outcome, now);
      const { programId } = after;
      const record = toCaseRecord(after);
      const json = JSON.stringify(record);
      const event = { type: 'case.resolved' as const, programId, subjectId: record.case_id, payload: json };
      const writes = [
        updateCases([after]),
        writeResolution({ caseIds: [caseId], resolution: withoutSecrets(text, MAX_TEXT_CHARACTERS) }),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: record.case_id, details: json }),
      ];
      return { record, json, subjectId: caseId, writes };
    },
  });
}

/** Returns a case after its resolution. A resolution also counts as an answer. */
export function afterResolution(before: SupportCase, outcome: Outcome, now: number): SupportCase {
  const at = new Date(now);
  const firstResponseAt = before.firstResponseAt ?? at;
  return { ...before, status: 'resolved', outcome, firstResponseAt, resolvedAt: at, updatedAt: at };
}

/** close_case: returns the closed case. It never opens again, and its free text is removed after some time. */
export async function closeCase(service: Service, call: Call<'close_case'>): Promise<Reply<'close_case'>> {
  const caseId = caseIdOf(call);
  const programId = programOf(call);
  const reply = await transactUnderKey(service, call, {
    ...keysOf(call),
    load: { lock: lockCase(caseId, programId), found: readCase(caseId, programId) },
    decide: ({ found }, { now }) => {
      const before = foundCase(call, found);
      requireAllowed('close', before, now);
      const at = new Date(now);
      const after: SupportCase = { ...before, status: 'closed', closedAt: at, updatedAt: at };
      const record = toCaseRecord(after);
      const json = JSON.stringify(record);
      const audited = { programId: after.programId, subjectId: record.case_id, details: json };
      return { record, json, subjectId: caseId, writes: [updateCases([after]), ...auditOf(call, audited)] };
    },
  });
  return replyWithinScopes(reply, call.caller);
}
