import type { Mutants, Witness } from './mutant.ts';

const EVERYWHERE: Witness = { file: 'test/api/erasure/everywhere.test.ts' };
const STORE: Witness = { file: 'test/store/erasure/card-erasure.test.ts' };
const DELIVERY: Witness = { file: 'test/delivery/erasure.test.ts' };

/** Mistakes about the erasure of a card holder's data. */
export const ERASURES: Mutants = {
  'open-card-erased': {
    mistake: 'the holder of a card in use is erased',
    edits: { refuseErasure: ["card.status === 'closed'", "card.status !== 'preactive'"] },
    witnesses: [STORE],
  },
  'reversals-not-erased': {
    mistake: 'descriptions of reversals are not erased',
    edits: { eraseTexts: ['eraseReversals(named), raise', 'raise'] },
    witnesses: [EVERYWHERE],
  },
  'searched-metadata-not-erased': {
    mistake: 'the search table of metadata is not erased',
    edits: { eraseTexts: ['eraseMetadata(named), eraseReversals', 'eraseReversals'] },
    witnesses: [EVERYWHERE],
  },
  'compact-events-not-erased': {
    mistake: 'only events in the full form are searched for the card',
    edits: { READ_EVENTS_OF_CARD: ["case when left(payload, 1) = '[' then '' else 'card_id\":' end", "'card_id\":'"] },
    witnesses: [STORE],
  },
  'full-events-not-erased': {
    mistake: 'only events in the compact form are searched for the card',
    edits: {
      READ_EVENTS_OF_CARD: [
        "position(case when left(payload, 1) = '[' then '' else 'card_id\":' end || to_json(:cardName::text)::text in payload) > 0",
        "left(payload, 1) = '[' and position(to_json(:cardName::text)::text in payload) > 0",
      ],
    },
    witnesses: [STORE],
  },
  'answers-not-erased': {
    mistake: 'responses of webhook receivers that repeat events are not erased',
    edits: { eraseEvents: ['about.length === 0', 'about.length >= 0'] },
    witnesses: [EVERYWHERE],
  },
  'erased-transfers-decided-on': {
    mistake: "a change that was decided before the erasure writes the transfer's erased text again",
    edits: {
      eraseTexts: [
        ['(named), raiseVersionOfCard(erasure)', '(named)'],
        ['raiseVersionOfCard(erasure), endStep', 'endStep'],
      ],
    },
    witnesses: [STORE],
  },
  'late-errors-not-erased': {
    mistake: 'an error that waits in a file is stored later with the erased text',
    edits: { '0021_card_erasure.sql': ['new.request := null;', ''] },
    witnesses: [STORE, EVERYWHERE],
  },
  'webhooks-not-read-again': {
    mistake: 'a webhook sends erased text from memory',
    edits: { eraseEvents: ['rereadWebhooks({ programId }), endStep', 'endStep'] },
    witnesses: [DELIVERY],
  },
  'holder-in-audit-log': {
    mistake: 'the audit log, which never changes, contains text about a holder',
    edits: { withoutValues: ['value === null', "name === 'metadata' || $&"] },
    witnesses: [EVERYWHERE],
  },
};
