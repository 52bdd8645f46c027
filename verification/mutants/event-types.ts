import type { Mutant, Witness } from './mutant.ts';

const FUNDING: Witness = { file: 'test/store/funding/funding-low.test.ts' };
const REPORTS: Witness = { file: 'test/errors/reports.test.ts' };
const TYPES: Witness = { file: 'test/api/events/event-types.test.ts' };

/** Mistakes about the types and contents of events. */
export const EVENTS_SENT: readonly Mutant[] = [
  {
    name: 'funds-compared-with-themselves',
    mistake: 'the funds are compared with the threshold only after the transfer has changed them',
    find: "    const low = this.#lowFunding(plan);\n    this.#apply(plan, request.command === 'create');",
    replace: "    this.#apply(plan, request.command === 'create');\n    const low = this.#lowFunding(plan);",
    witnesses: [FUNDING],
  },
  {
    name: 'funds-low-at-the-threshold',
    mistake: 'funds exactly at the threshold count as low',
    find: 'before >= threshold && after < threshold',
    replace: 'before > threshold && after <= threshold',
    witnesses: [FUNDING],
  },
  {
    name: 'holds-not-counted-as-funds',
    mistake: 'the balance is compared with the threshold without subtracting holds',
    find: 'if (!fallsBelowThreshold(before, available(after), threshold)) return undefined;',
    replace:
      'if (!fallsBelowThreshold(this.#accounts.get(after.accountId).balance, after.balance, threshold)) return undefined;',
    witnesses: [FUNDING],
  },
  {
    name: 'threshold-of-every-currency',
    mistake: 'funding in any currency is compared with the threshold',
    find: "account.kind === 'funding' && account.currency === currency",
    replace: "account.kind === 'funding'",
    witnesses: [FUNDING],
  },
  {
    name: 'low-funds-told-at-every-threshold',
    mistake: 'a new threshold above the funds causes an event even if they were low before',
    find: 'if (threshold === null || wasLow || available >= threshold) return [];',
    replace: 'if (threshold === null || (wasLow && threshold === 0n) || available >= threshold) return [];',
    witnesses: [FUNDING],
  },
  {
    name: 'errors-told-twice',
    mistake: 'the next event repeats the errors of the event before',
    find: 'set count = 0, since = null,',
    replace: 'set since = since,',
    witnesses: [REPORTS],
  },
  {
    name: 'errors-told-without-pause',
    mistake: 'every error has its own event',
    find: '`count > 0 and (reported_at is null',
    replace: '`count > 0 and (true or reported_at is null',
    witnesses: [REPORTS],
  },
  {
    name: 'errors-told-by-two',
    mistake: 'errors to report are read without a lock, so two processes report them',
    find: 'order by program_id, code limit :count for no key update skip locked',
    replace: 'order by program_id, code limit :count',
    witnesses: [REPORTS],
  },
  {
    name: 'reason-told-to-programs',
    mistake: 'card programs see why the switch was changed, and by whom',
    find: 'programId: programId ?? EVERY_PROGRAM, payload: JSON.stringify(shown) }',
    replace: 'programId: programId ?? EVERY_PROGRAM, payload: JSON.stringify({ ...shown, ...record }) }',
    witnesses: [TYPES],
  },
];
