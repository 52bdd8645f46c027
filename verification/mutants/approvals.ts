import type { Mutants, Witness } from './mutant.ts';

const DECISIONS: Witness = { file: 'domain/approvals/approval.test.ts' };
const RULES: Witness = { file: 'domain/approvals/policy.test.ts' };
const APPROVALS: Witness = { file: 'test/security/approvals.test.ts' };

/** Mistakes about the approval of a second person. */
export const SECOND_PEOPLE: Mutants = {
  'own-request-approved': {
    mistake: 'the requester can approve',
    edits: { refuseDecision: ['if (isOwn) {', "if (isOwn && decision !== 'approve') {"] },
    witnesses: [DECISIONS, { ...APPROVALS, only: 'is approved by someone else' }],
  },
  'keys-of-one-person-count-as-two': {
    mistake: 'a person approves their own request by sending it with a key and approving it in a session',
    edits: { isSamePerson: ['one.behind.some', 'one.behind.slice(0, 1).some'] },
    witnesses: [DECISIONS],
  },
  'expired-approval-given': {
    mistake: 'an approval that has expired can still be given',
    edits: { approvalStatusAt: ['expiresAt <= now', 'expiresAt <= 0 * now'] },
    witnesses: [DECISIONS, { ...APPROVALS, only: 'with its event' }],
  },
  'policy-changed-by-one': {
    mistake: 'one person alone can remove all rules',
    edits: { needsApproval: ['return rules.length > 0', 'return rules.length > 1_000'] },
    witnesses: [RULES, { ...APPROVALS, only: 'applies to its own changes' }],
  },
  'request-changed-in-between': {
    mistake: "a different request with the same idempotency key gets the first request's approval",
    edits: {
      sameRequest: ['if (isSame(approval, fingerprintOf(call)))', 'if (isSame(approval, fingerprintOf(call)) || true)'],
    },
    witnesses: [{ ...APPROVALS, only: 'is approved by someone else' }],
  },
  'checker-without-scope': {
    mistake: 'everyone who can read approvals can decide on them',
    edits: { refuseDecision: ['if (!checker.mayDecide)', 'if (!checker.mayDecide && now < 0)'] },
    witnesses: [DECISIONS, { ...APPROVALS, only: 'someone without the scope' }],
  },
  'carried-out-again': {
    mistake: 'a change without an idempotency key is carried out again after a later one',
    edits: {
      carryOut: ['approval.timesCarriedOut > 0', 'approval.timesCarriedOut > 1'],
      noteCarriedOut: ['then 1 else 2', 'then 0 else 0'],
    },
    witnesses: [{ ...APPROVALS, only: 'never repeats a change' }],
  },
  'failed-although-moved': {
    mistake: 'a process that is refused reports a failure although another has moved the money',
    edits: { carriedOutBefore: ['response.code !== null', 'response.code !== undefined'] },
    witnesses: [{ ...APPROVALS, only: 'if that process had moved' }],
  },
  'moved-after-failure': {
    mistake: 'a request can still be carried out under its key after its approval has failed',
    edits: { end: ['key === undefined || response', 'key !== undefined || response'] },
    witnesses: [{ ...APPROVALS, only: 'its key can never move money' }],
  },
  'small-amounts-in-other-currencies': {
    mistake: 'a rule about an amount does not apply to other currencies',
    edits: { matches: ['|| currency !== request.currency', ''] },
    witnesses: [RULES],
  },
};
