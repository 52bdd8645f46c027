import type { Edits, Mutants } from './mutant.ts';

const ruleOf = (mistake: string, edits: Edits): Mutants[string] => ({
  ...{ mistake, edits },
  witnesses: [{ file: 'verification/environments/memory/simulation.test.ts', only: 'stories' }],
});

/** Mistakes in the rules about money, holds, limits and cards. The simulation's long scenarios (stories) must find them. */
export const RULES: Mutants = {
  'release-keeps-counters': ruleOf('a canceled or expired hold still counts toward limits', {
    release: ['giveBack(transfer, hold, hold.amount, 1n, view)', '[]'],
  }),
  'release-keeps-number': ruleOf('a released hold gives its amount back to limits, but still counts as a transfer', {
    release: ['hold.amount, 1n', 'hold.amount, 0n'],
  }),
  'capture-keeps-counters': ruleOf('a partial capture gives nothing back to limits', {
    decideCapture: ['giveBack(transfer, hold, released, 0n, view)', '[]'],
  }),
  'capture-keeps-rest': ruleOf('a partial capture keeps the rest of the hold', {
    decideCapture: ['view), hold.amount)', 'view), captured)'],
  }),
  'hold-kept-after-its-end': ruleOf('the row of a captured hold is not deleted', {
    changesOf: ['[...changes.ended.values()]', '$&.slice(1)'],
  }),
  'capture-after-the-end': ruleOf('an expired hold can be captured before the loop has expired it', {
    decideCapture: ["'capture', view.now", "'capture', 0"],
  }),
  'capture-of-lost-cards': ruleOf('a capture does not check the status of its cards', {
    decideCapture: ['if (state !== undefined) return state;', ''],
  }),
  'capture-checks-whole': ruleOf('a partial capture needs room for the full amount', {
    decideCapture: ['receiverOf(transfer, view), captured', 'receiverOf(transfer, view), transfer.amount'],
  }),
  'reversal-counts': ruleOf('a reversal gives its amount back to limits', {
    decideReversal: [
      'counts: []',
      "counts: [{ accountId: source.accountId, direction: 'in', dayStart: view.rules.calendar.day.start, amount: -amount, count: 0n }]",
    ],
  }),
  'reversal-above-captured': ruleOf('a reversal can exceed the captured amount', {
    decideReversal: ['transfer.capturedAmount - ', 'transfer.amount - '],
  }),
  'posting-number-twice': ruleOf('a reversal gives two postings of an account the same number', {
    decideReversal: ['[source, destination]', '[source, { ...destination, sequence: destination.sequence - 1n }]'],
  }),
  'reference-of-two': ruleOf('two transfers can have the same reference', {
    examineReference: ['view.referenceTakenBy === undefined', 'true'],
  }),
  'closed-with-incoming': ruleOf('a card can be closed while money is on hold for it', {
    refuseNotEmpty: ['held > 0n || incoming > 0n', 'held > 0n'],
  }),
};
