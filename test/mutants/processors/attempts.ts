import type { Mutant, Witness } from '../mutant.ts';

const SIMULATION: Witness = {
  file: 'test/simulation/simulation.test.ts',
  only: 'the processor of a card and the ledger agree',
};
const NEXT_STEP: Witness = { file: 'domain/processors/next-step.test.ts' };

/** Mistakes that move the money of a card at a processor twice, or release what it has moved. */
export const ATTEMPTS: readonly Mutant[] = [
  {
    name: 'send-before-it-is-written',
    mistake: 'an order is sent before its being sent is committed, so a process that dies meanwhile sends it again',
    find: '    const rows = await this.#parts.database.write(markSent(attempts, SEND_WINDOW_MILLISECONDS));',
    replace: `    await Promise.all(ready.map((one) => this.#call('send', toOrder(one, { notAfter: until, isRepeat: false }))));
    const rows = await this.#parts.database.write(markSent(attempts, SEND_WINDOW_MILLISECONDS));`,
    witnesses: [SIMULATION],
  },
  {
    name: 'new-key-on-resend',
    mistake: 'an order that is sent again has another key, so the processor takes it for a new one',
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
    mistake: 'an order whose process has died is sent again without asking the processor',
    find: "if (attempt.status === 'sent') return lostStep(attempt, traits, now);",
    replace:
      "if (attempt.status === 'sent') return { ...lostStep(attempt, traits, now), status: 'ready', nextAt: now };",
    witnesses: [SIMULATION],
  },
  {
    name: 'hold-of-a-processor-expires',
    mistake: 'the hold of a transfer that waits for a processor has an end',
    find: '      expiresAt: transfer.expiresAt,',
    replace: '      expiresAt: transfer.expiresAt ?? transfer.createdAt + 86_400_000,',
    witnesses: [SIMULATION],
  },
  {
    name: 'inquiry-by-their-id',
    mistake: 'the processor is asked by its own id, which nobody has after a lost answer',
    find: 'const answer = await this.#call(question, toOrder(claimed, { notAfter: null, isRepeat: attempt.tries > 1 }));',
    replace: `const order = toOrder(claimed, { notAfter: null, isRepeat: attempt.tries > 1 });
    const answer = await this.#call(question, { ...order, attemptId: attempt.processorReference ?? order.attemptId });`,
    witnesses: [SIMULATION],
  },
  {
    name: 'late-approval-not-recorded',
    mistake: 'what the processor has executed after it had failed is not in the books',
    find: '  await recordContradiction(parts.database, attempt, step, now());\n  return true;',
    replace: '  return true;',
    witnesses: [SIMULATION],
  },
  {
    name: 'attempt-not-compared',
    mistake: 'what follows from an answer is written although the attempt has changed since it was decided',
    find: 'if (known === undefined || !isUnchanged(known.after, attempt)) {',
    replace: 'if (known === undefined) {',
    witnesses: [SIMULATION],
  },
];
