import type { Mutant, Witness } from '../mutant.ts';

const SIMULATION: Witness = {
  file: 'verification/environments/memory/simulation.test.ts',
  only: 'keeps the processor and the ledger in agreement',
};
const NEXT_STEP: Witness = { file: 'domain/processors/next-step.test.ts' };

/** Mistakes that move a card's money twice at a processor, or release money that the processor has moved. */
export const ATTEMPTS: readonly Mutant[] = [
  {
    name: 'send-before-it-is-written',
    mistake: 'an order is sent before the fact is committed, so it is sent again if the process dies in between',
    find: '    const rows = await this.#parts.database.write(markSent(attempts, SEND_WINDOW_MILLISECONDS));',
    replace: `    await Promise.all(ready.map((one) => this.#call('send', toOrder(one, { notAfter: until, isRepeat: false }))));
    const rows = await this.#parts.database.write(markSent(attempts, SEND_WINDOW_MILLISECONDS));`,
    witnesses: [SIMULATION],
  },
  {
    name: 'new-key-on-resend',
    mistake: 'an order is sent again with another key, so the processor treats it as a new order',
    find: "attemptId: toWireId('pat', attempt.attemptId),",
    replace: "attemptId: toWireId('pat', attempt.attemptId) + (attempt.tries > 1 ? attempt.tries : ''),",
    witnesses: [SIMULATION],
  },
  {
    name: 'time-out-is-a-failure',
    mistake: 'an order without an answer counts as failed, and its money is released',
    find: '      if (isOurSend) return unknown(attempt, answer, traits, now);\n      return isAsked(attempt, question) ? again',
    replace:
      "      if (isOurSend) return end(attempt, answer, 'failed', 'fail', unreachable(attempt));\n      return isAsked(attempt, question) ? again",
    witnesses: [NEXT_STEP, SIMULATION],
  },
  {
    name: 'first-not-found-is-final',
    mistake: 'the first "not found" releases the money',
    find: 'if (misses < 2) {',
    replace: 'if (misses < 1) {',
    witnesses: [NEXT_STEP, SIMULATION],
  },
  {
    name: 'not-found-before-its-time',
    mistake: '"not found" counts while the order may still be executed',
    find: 'if (now <= countsFrom) {',
    replace: 'if (now < 0) {',
    witnesses: [NEXT_STEP, SIMULATION],
  },
  {
    name: 'lost-is-sent-again',
    mistake: 'after its process died, an order is sent again without asking the processor',
    find: "if (attempt.status === 'sent') return lostStep(attempt, traits, now);",
    replace:
      "if (attempt.status === 'sent') return { ...lostStep(attempt, traits, now), status: 'ready', nextAt: now };",
    witnesses: [SIMULATION],
  },
  {
    name: 'hold-of-a-processor-expires',
    mistake: 'the hold of a transfer that waits for a processor expires',
    find: '      expiresAt: transfer.expiresAt,',
    replace: '      expiresAt: transfer.expiresAt ?? transfer.createdAt + 86_400_000,',
    witnesses: [SIMULATION],
  },
  {
    name: 'inquiry-by-their-id',
    mistake: "the inquiry uses the processor's id, which is unknown after a lost answer",
    find: 'const answer = await this.#call(question, toOrder(claimed, { notAfter: null, isRepeat: attempt.tries > 1 }));',
    replace: `const order = toOrder(claimed, { notAfter: null, isRepeat: attempt.tries > 1 });
    const answer = await this.#call(question, { ...order, attemptId: attempt.processorReference ?? order.attemptId });`,
    witnesses: [SIMULATION],
  },
  {
    name: 'late-approval-not-recorded',
    mistake: 'an order that the processor executes after its failure is missing from the books',
    find: '  await recordContradiction(parts.database, attempt, step, now());\n  return true;',
    replace: '  return true;',
    witnesses: [SIMULATION],
  },
  {
    name: 'attempt-not-compared',
    mistake: 'the result of an answer is written although the attempt has changed since the decision',
    find: 'if (known === undefined || !isUnchanged(known.after, attempt)) {',
    replace: 'if (known === undefined) {',
    witnesses: [SIMULATION],
  },
];
