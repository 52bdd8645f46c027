import { type ApprovalPolicy, ApprovalRule, RULED_FIELDS } from '../../../contract/approvals.ts';
import { isJsonObject, type JsonValue } from '../../../contract/reading/json.ts';
import { readFields } from '../../../contract/reading/read-fields.ts';
import { KEY_SCOPES } from '../../../contract/scope.ts';
import { WITH_AMOUNT } from '../../../domain/approvals/policy.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { checkCurrency } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { type Policy, READ_APPROVAL_POLICY, toPolicy, writePolicy } from '../../store/approval.ts';
import type { Database } from '../../store/connection/database.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import { actorOf, auditOf } from '../audit/audit.ts';

/** The parts of the policy that the gate needs. */
export type CurrentPolicy = Pick<Policy, 'rules' | 'expiresAfterHours'> & {
  /** Whether the policy was ever set. If not, no request has ever needed an approval. */
  readonly isSet: boolean;
};

// Invariant: A new approval rule applies in every process within a second
// Kept by: `openPolicyMemory`
// Tested by: `test/security/approvals.test.ts`

/** How long the policy is used before it is read again, in milliseconds. */
const REMEMBERED_MILLISECONDS = 1000;

export type PolicyMemory = {
  /** Returns the policy, at most a second old. Rejects if it cannot be read. */
  readonly read: () => Promise<CurrentPolicy>;
  /** Discards the cached policy, because this process has changed it. */
  readonly forget: () => void;
};

/** Reads the policy when an operator's request needs it, but at most once a second. */
export function openPolicyMemory(database: Database): PolicyMemory {
  let known: { readonly policy: Promise<CurrentPolicy>; readonly until: number } | undefined;
  return {
    read: () => {
      if (known !== undefined && performance.now() < known.until) return known.policy;
      const policy = readRows(database, READ_APPROVAL_POLICY).then(([row]) =>
        row === undefined ? NO_RULES : { ...toPolicy(row), isSet: true },
      );
      const current = { policy, until: performance.now() + REMEMBERED_MILLISECONDS };
      known = current;
      policy.catch(() => {
        if (known === current) known = undefined;
      });
      return policy;
    },
    forget: () => {
      known = undefined;
    },
  };
}

const NO_RULES = { rules: [], expiresAfterHours: 24, isSet: false } as const;

export async function getApprovalPolicy({
  database,
}: Pick<Service, 'database'>): Promise<{ readonly record: ApprovalPolicy }> {
  const [row] = await readRows(database, READ_APPROVAL_POLICY);
  return { record: toRecord(row === undefined ? { ...NO_RULES, changedAt: null, changedBy: null } : toPolicy(row)) };
}

/** change_approval_policy: returns the new policy. If a policy has rules, they also apply to changes of the policy. */
export async function changeApprovalPolicy(
  memory: PolicyMemory,
  service: Pick<Service, 'database'>,
  call: Call<'change_approval_policy'>,
): Promise<Reply<'change_approval_policy'>> {
  const { rules: sent, expires_after_hours: expiresAfterHours = NO_RULES.expiresAfterHours } = call.body;
  const rules = sent.map((rule, index) => readRule(call, rule, index));
  const reply = await transactUnderKey(service, call, {
    load: {},
    decide: (_, { now }) => {
      const policy: Policy = { rules, expiresAfterHours, changedAt: new Date(now), changedBy: actorOf(call.caller) };
      const record = toRecord(policy);
      const audited = { programId: null, subjectId: null, details: JSON.stringify(record) };
      return { record, subjectId: NO_PROGRAM, writes: [writePolicy(policy), ...auditOf(call, audited)] };
    },
  });
  memory.forget();
  return reply;
}

/** Returns a rule of the body. Throws change_approval_policy_schema. */
function readRule(call: CallContext, sent: JsonValue, index: number): ApprovalRule {
  const at = `/rules/${index}`;
  if (!isJsonObject(sent)) throw schemaRefusal(call, `Rule ${index + 1} must be an object.`, at);
  const reading = readFields(ApprovalRule, sent, 'body');
  if ('problem' in reading) {
    const { message, field = '' } = reading.problem;
    throw schemaRefusal(call, `Rule ${index + 1}: ${message}`, `${at}${field}`);
  }
  const { fields: rule } = reading;
  checkChoices(call, rule, at);
  checkRule(call, rule, at);
  return rule;
}

/** Refuses unknown scopes and fields, because a misspelled one would never match. */
function checkChoices(call: CallContext, rule: ApprovalRule, at: string): void {
  for (const name of ['scopes', 'fields'] as const) {
    const items: readonly unknown[] = rule[name] ?? [];
    const known: readonly unknown[] = name === 'scopes' ? KEY_SCOPES : RULED_FIELDS;
    const unknown = items.findIndex((item) => !known.includes(item));
    if (unknown === -1) continue;
    const message = `'${name}' of a rule can only contain ${known.map((one) => `'${one}'`).join(', ')}, and its item ${unknown + 1} is none of them.`;
    throw schemaRefusal(call, message, `${at}/${name}/${unknown}`);
  }
}

/** Refuses a rule that could never match, or that would match more than its author expects. */
function checkRule(call: CallContext, rule: ApprovalRule, at: string): void {
  const { operation, over, currency, scopes, fields } = rule;
  const refuse = (message: string, field: string): never => {
    throw schemaRefusal(call, message, `${at}/${field}`);
  };
  if ((over === undefined) !== (currency === undefined)) {
    refuse(
      "'over' and 'currency' belong together: send both, or neither for all amounts.",
      over === undefined ? 'over' : 'currency',
    );
  }
  if (currency !== undefined) checkCurrency(call, currency);
  const onlyWith: readonly (readonly [field: string, isSent: boolean, operations: readonly string[]])[] = [
    ['over', over !== undefined, WITH_AMOUNT],
    ['scopes', scopes !== undefined, ['create_key']],
    ['fields', fields !== undefined, ['update_program']],
  ];
  for (const [field, isSent, operations] of onlyWith) {
    if (!isSent || operations.includes(operation)) continue;
    refuse(`'${field}' can only be sent with 'operation': ${operations.map((one) => `'${one}'`).join(' or ')}.`, field);
  }
}

function toRecord(
  policy: Pick<Policy, 'rules' | 'expiresAfterHours'> & {
    readonly changedAt: Date | null;
    readonly changedBy: string | null;
  },
): ApprovalPolicy {
  return {
    rules: policy.rules as ApprovalPolicy['rules'],
    expires_after_hours: policy.expiresAfterHours,
    changed_at: policy.changedAt?.toISOString() ?? null,
    changed_by: policy.changedBy,
  };
}
