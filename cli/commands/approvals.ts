import { readFile } from 'node:fs/promises';
import { APPROVAL_STATUSES } from '../../domain/approvals/approval.ts';
import { parseJson } from '../../domain/parse-json.ts';
import type { ApprovalPolicy, ApprovalRecord, ChangeApprovalPolicyBody, WithResponse } from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption } from '../command.ts';
import { pairsOf } from '../output.ts';
import { type Session, showChanged } from '../session.ts';

const APPROVAL_ID = 'approval id, apr_...';

type Filters = { readonly status?: ApprovalRecord['status']; readonly program_id?: string };
type Reason = { readonly reason?: string };

/** Adds `approvals list | get | approve | reject | withdraw | policy | set-policy`. */
export const addApprovals: AddCommands = (program, context) => {
  const approvals = program
    .command('approvals')
    .description('requests that are waiting for the approval of a second person');
  addList<ApprovalRecord, Filters>(approvals, context, {
    name: 'list',
    description: 'list the requests that are or were waiting for an approval',
    options: {
      status: { flag: '--status <status>', help: 'only this status', choices: APPROVAL_STATUSES },
      program_id: { flag: '--program-id <program_id>', help: 'only requests about this card program' },
    },
    columns: [
      'approval_id',
      'status',
      { heading: 'requested_by', show: (one) => one.requested_by_name ?? one.requested_by },
      { heading: 'wants to', show: ({ summary }) => summary },
      'expires_at',
    ],
    list: (service, query) => service.approvals.list(query),
    empty: { text: 'No approvals: no request has needed one.' },
  });
  addCommand(approvals, context, {
    name: 'get <approval_id>',
    argument: APPROVAL_ID,
    description: 'show a request, with the balances and limits at that time and now',
    run: async ({ service, show }, _, approvalId) => {
      const approval = await service.approvals.get(approvalId);
      show(approval, textOf(approval));
    },
  });
  addCommand<Reason>(approvals, context, {
    name: 'approve <approval_id>',
    argument: APPROVAL_ID,
    description: "approve someone else's request, and carry it out",
    options: { reason: { flag: '--reason <text>', help: 'why; recorded in the audit log' } },
    run: async (session, reason, approvalId) =>
      showDecided(session, await session.service.approvals.approve(approvalId, reason)),
  });
  addCommand<{ readonly reason: string }>(approvals, context, {
    name: 'reject <approval_id>',
    argument: APPROVAL_ID,
    description: "reject someone else's request",
    options: { reason: { flag: '--reason <text>', help: 'why; the requester can read it', required: true } },
    run: async (session, reason, approvalId) =>
      showDecided(session, await session.service.approvals.reject(approvalId, reason)),
  });
  addCommand(approvals, context, {
    name: 'withdraw <approval_id>',
    argument: APPROVAL_ID,
    description: 'withdraw your own request, before anyone has decided',
    run: async (session, _, approvalId) => showDecided(session, await session.service.approvals.withdraw(approvalId)),
  });
  addCommand(approvals, context, {
    name: 'policy',
    description: 'show the rules that determine which requests need an approval',
    run: async ({ service, show }) => {
      const policy = await service.approvals.policy();
      show(policy, policyText(policy));
    },
  });
  addCommand<KeyOption & { readonly file: string }>(approvals, context, {
    name: 'set-policy',
    description: 'replace the rules that determine which requests need an approval',
    options: {
      ...KEY_OPTION,
      file: {
        flag: '--file <file>',
        help: 'the policy as JSON, as "approvals policy --json" shows it',
        required: true,
      },
    },
    run: async (session, { file, idempotencyKey }) => {
      const { rules, expires_after_hours: hours } = parseJson(await readFile(file, 'utf8')) as ChangeApprovalPolicyBody;
      const body = { rules, ...(hours !== undefined && { expires_after_hours: hours }) };
      const policy = await session.service.approvals.changePolicy(body, { idempotencyKey });
      showChanged(session, policy, policyText(policy));
    },
  });
};

function showDecided(session: Session, approval: WithResponse<ApprovalRecord>): void {
  showChanged(session, approval, textOf(approval));
}

/** Objects of any form are shown as JSON. */
function textOf(approval: ApprovalRecord): ReturnType<typeof pairsOf> {
  const { body, values_then, values_now, result, error, ...facts } = approval;
  const shown = Object.entries({ body, values_then, values_now, result, error });
  return pairsOf({
    ...facts,
    ...Object.fromEntries(shown.map(([name, value]) => [name, value === null ? null : JSON.stringify(value)])),
  });
}

function policyText({ rules, ...facts }: ApprovalPolicy): ReturnType<typeof pairsOf> {
  return pairsOf({
    ...facts,
    ...Object.fromEntries(rules.map((rule, index) => [`rule ${index + 1}`, JSON.stringify(rule)])),
  });
}
