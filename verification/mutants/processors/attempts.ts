import type { Mutants, Witness } from '../mutant.ts';

const SIMULATION: Witness = {
  file: 'verification/environments/memory/simulation.test.ts',
  only: 'keeps the processor and the ledger in agreement',
};
const NEXT_STEP: Witness = { file: 'domain/processors/next-step.test.ts' };

const BREAKS_DOMAIN: Witness = { file: 'domain/processors/break.test.ts' };
const BREAKS: Witness = { file: 'test/api/processors/breaks.test.ts' };
const UNSETTLED: Witness = { file: 'test/api/processors/unsettled.test.ts' };
const BATCHES: Witness = { file: 'test/api/processors/batches.test.ts' };

/** Mistakes that move a card's money twice at a processor, or release money that the processor has moved. */
export const ATTEMPTS: Mutants = {
  'send-before-it-is-written': {
    mistake:
      'an order is sent before its mark as sent is committed, so it is sent again if the process dies in between',
    edits: {
      'AttemptWork.markSent': [
        'const rows =',
        `await Promise.all(ready.map((one) => this.#call('send', toOrder(one, { notAfter: until, isRepeat: false }))));
    $&`,
      ],
    },
    witnesses: [SIMULATION],
  },
  'new-key-on-resend': {
    mistake: 'an order is sent again with a different key, so the processor treats it as a new order',
    edits: { toOrder: ["toWireId('pat', attempt.attemptId)", "$& + (attempt.tries > 1 ? attempt.tries : '')"] },
    witnesses: [SIMULATION],
  },
  'time-out-is-a-failure': {
    mistake: 'an order without an answer counts as failed, and its money is released',
    edits: {
      nextStep: [
        'unknown(attempt, answer, traits, now)',
        "end(attempt, answer, 'failed', 'fail', unreachable(attempt))",
      ],
    },
    witnesses: [NEXT_STEP, SIMULATION],
  },
  'first-not-found-is-final': {
    mistake: 'the first "not found" releases the money',
    edits: { notFound: ['misses < 2', 'misses < 1'] },
    witnesses: [NEXT_STEP, SIMULATION],
  },
  'not-found-before-its-time': {
    mistake: '"not found" counts while the order may still be executed',
    edits: { notFound: ['now <= countsFrom', 'now < 0'] },
    witnesses: [NEXT_STEP, SIMULATION],
  },
  'lost-is-sent-again': {
    mistake: 'after its process died, an order is sent again without asking the processor',
    edits: { 'AttemptWork.stepBefore': ['lostStep(attempt, traits, now)', "{ ...$&, status: 'ready', nextAt: now }"] },
    witnesses: [SIMULATION],
  },
  'hold-of-a-processor-expires': {
    mistake: 'the hold of a transfer that waits for a processor expires',
    edits: { hold: ['expiresAt,\n      dayStart', 'expiresAt ?? transfer.createdAt + 86_400_000,\n      dayStart'] },
    witnesses: [SIMULATION],
  },
  'inquiry-by-their-id': {
    mistake: "the inquiry uses the processor's id, which is unknown after a lost answer",
    edits: {
      'AttemptWork.ask': [
        'answer = await this.#call(question, toOrder(claimed, { notAfter: null, isRepeat: attempt.tries > 1 }))',
        `order = toOrder(claimed, { notAfter: null, isRepeat: attempt.tries > 1 });
    const answer = await this.#call(question, { ...order, attemptId: attempt.processorReference ?? order.attemptId })`,
      ],
    },
    witnesses: [SIMULATION],
  },
  'late-approval-not-recorded': {
    mistake: 'an order that the processor executes after the transfer has failed is missing from the books',
    edits: { recordOnce: ['await recordContradiction(parts.database, attempt, step, now());\n  return', 'return'] },
    witnesses: [SIMULATION],
  },
  'attempt-not-compared': {
    mistake: 'the result of an answer is written although the attempt has changed since the decision',
    edits: {
      'Books.#decideReport': ['known === undefined || !isUnchanged(known.after, attempt)', 'known === undefined'],
    },
    witnesses: [SIMULATION],
  },
  'booked-the-wrong-way': {
    mistake: 'the difference of a break is booked in the wrong direction',
    edits: { bookingsOf: ["(attempt.kind === 'push') === gap > 0n", "(attempt.kind === 'push') !== gap > 0n"] },
    witnesses: [BREAKS_DOMAIN, { ...BREAKS, only: 'reports something else later' }],
  },
  'booked-twice': {
    mistake: 'a break can be booked again, because the booked amount is not stored',
    edits: { closeBreak: ['booking?.correction ?? 0n', '0n'] },
    witnesses: [{ ...BREAKS, only: 'reports something else later' }],
  },
  'whole-amount-booked-again': {
    mistake: 'an amount that is already booked is booked again after the processor reports something else',
    edits: { movedInBooks: ['+ correctedAmount', '+ 0n * correctedAmount'] },
    witnesses: [BREAKS_DOMAIN, { ...BREAKS, only: 'reports something else later' }],
  },
  'booked-while-a-file-has-it': {
    mistake: 'a line of a settlement file matches although a person is booking that its order is missing',
    edits: { isSame: ['|| now.correctedAmount !== before.correctedAmount', ''] },
    witnesses: [{ ...UNSETTLED, only: 'while a person books its missing order' }],
  },
  'missing-after-it-arrived': {
    mistake: 'an order can be booked as missing after a settlement file has it',
    edits: { settleMissing: ['stated_amount = amount, ', ''] },
    witnesses: [{ ...UNSETTLED, only: 'only while it is in no file' }],
  },
  'missing-is-booked-again': {
    mistake: 'a missing order that a file has later is booked again by a repeated request',
    edits: { bookingsOf: ["kind === 'missing_in_file' && found.bookedAgainst !== null", 'false'] },
    witnesses: [{ ...UNSETTLED, only: 'booking is sent again' }],
  },
  'sums-that-differ': {
    mistake: 'a line settles several orders although they do not sum to its amount',
    edits: { batchProblem: ['isEqual ? undefined', 'true ? undefined'] },
    witnesses: [{ file: 'domain/processors/settlement.test.ts' }, { ...BATCHES, only: 'another sum' }],
  },
  'two-lines-settle-an-order': {
    mistake: 'a person can settle an order that another line has settled',
    edits: { orderProblem: ["if (order.isSettled) return 'is already settled';", ''] },
    witnesses: [{ file: 'domain/processors/settlement.test.ts' }, { ...BATCHES, only: 'two breaks name it' }],
  },
  'settled-while-it-is-compared': {
    mistake: 'a line of a settlement file settles an order that a person is settling by another line',
    edits: { changeUnlessChanged: ['now.settlementFileId === null', 'true'] },
    witnesses: [{ ...BATCHES, only: 'while a person names the order' }],
  },
  'begun-line-without-its-attempt': {
    mistake:
      'a process that takes over a line about one order counts it for all orders that have its reference by then',
    edits: {
      beginLines: ['attempt_id = sent.attempt_id', 'attempt_id = settlement_line.attempt_id'],
      compareLine: ['line.isStored ? outcome : null', 'outcome'],
    },
    witnesses: [{ ...BATCHES, only: 'others get its reference' }],
  },
  'batch-is-read-again': {
    mistake: 'a process that takes over a line reads which orders it is about again',
    edits: { readBatchOrders: ['line.attempt_ids is null and', ''] },
    witnesses: [{ ...BATCHES, only: 'was killed' }],
  },
  'early-files-are-late': {
    mistake: 'a settlement file is reported as missing although the newest file is recent',
    edits: { ordersDue: ['newestAt <= now - within', 'true'] },
    witnesses: [{ file: 'domain/processors/settlement.test.ts' }],
  },
};
