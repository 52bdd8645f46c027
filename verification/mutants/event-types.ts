import type { Mutants, Witness } from './mutant.ts';

const FUNDING: Witness = { file: 'test/store/funding/funding-low.test.ts' };
const REPORTS: Witness = { file: 'test/errors/reports.test.ts' };
const TYPES: Witness = { file: 'test/api/events/event-types.test.ts' };

/** Mistakes about the types and contents of events. */
export const EVENTS_SENT: Mutants = {
  'funds-compared-with-themselves': {
    mistake: 'the funds are compared with the threshold only after the transfer has changed them',
    edits: {
      'Books.#carryOut': [
        "const low = this.#lowFunding(plan);\n    this.#apply(plan, request.command === 'create')",
        "this.#apply(plan, request.command === 'create');\n    const low = this.#lowFunding(plan)",
      ],
    },
    witnesses: [FUNDING],
  },
  'funds-low-at-the-threshold': {
    mistake: 'funds exactly at the threshold count as low',
    edits: {
      fallsBelowThreshold: ['before >= threshold && after < threshold', 'before > threshold && after <= threshold'],
    },
    witnesses: [FUNDING],
  },
  'holds-not-counted-as-funds': {
    mistake: 'the balance is compared with the threshold without subtracting holds',
    edits: {
      'Books.#lowFunding': ['before, available(after)', 'this.#accounts.get(after.accountId).balance, after.balance'],
    },
    witnesses: [FUNDING],
  },
  'threshold-of-every-currency': {
    mistake: 'funding in any currency is compared with the threshold',
    edits: { 'Books.#lowFunding': [' && account.currency === currency', ''] },
    witnesses: [FUNDING],
  },
  'low-funds-told-at-every-threshold': {
    mistake: 'a new threshold above the funds causes an event even if they were low before',
    edits: { lowFunding: ['threshold === null || wasLow', 'threshold === null || (wasLow && threshold === 0n)'] },
    witnesses: [FUNDING],
  },
  'errors-told-twice': {
    mistake: 'the next event repeats the errors of the event before',
    edits: { MARK_ERRORS_REPORTED: ['count = 0, since = null', 'since = since'] },
    witnesses: [REPORTS],
  },
  'errors-told-without-pause': {
    mistake: 'every error has its own event',
    edits: { IS_DUE: ['reported_at is null', 'true or $&'] },
    witnesses: [REPORTS],
  },
  'errors-told-by-two': {
    mistake: 'errors to report are read without a lock, so two processes report them',
    edits: { LOCK_DUE_ERRORS: [' for no key update skip locked', ''] },
    witnesses: [{ file: 'test/errors/recorder.test.ts', only: 'are written once by two processes' }],
  },
  'reason-told-to-programs': {
    mistake: 'card programs see why the switch was changed, and by whom',
    edits: { changeEvents: ['JSON.stringify(shown)', 'JSON.stringify({ ...shown, ...record })'] },
    witnesses: [TYPES],
  },
};
