import type { Mutant, Witness } from './mutant.ts';

const EVERYWHERE: Witness = { file: 'test/api/erasure/everywhere.test.ts' };
const STORE: Witness = { file: 'test/store/erasure/card-erasure.test.ts' };
const DELIVERY: Witness = { file: 'test/delivery/erasure.test.ts' };
const APART: Witness = { file: 'test/security/programs-apart.test.ts' };

const BATCHES = 'server/subjects/cards/erase-in-batches.ts';

/** Mistakes about the erasure of a card holder's data. */
export const ERASURES: readonly Mutant[] = [
  {
    name: 'open-card-erased',
    mistake: 'the holder of a card in use is erased',
    find: "if (card.status === 'closed') return undefined;",
    replace: "if (card.status !== 'preactive') return undefined;",
    witnesses: [STORE],
  },
  {
    name: 'card-of-another-program-erased',
    mistake: 'a card is found by its name in any program, and only the database separates programs',
    find: 'where card.program_id = :programId and card.name = :name`,\n);\n\n/** Reads one card by its name, with its account. */',
    replace:
      'where :programId::uuid is not null and card.name = :name`,\n);\n\n/** Reads one card by its name, with its account. */',
    witnesses: [APART],
  },
  {
    name: 'reversals-not-erased',
    mistake: 'descriptions of reversals are not erased',
    find: 'eraseMetadata(named), eraseReversals(named), raise',
    replace: 'eraseMetadata(named), raise',
    witnesses: [EVERYWHERE],
  },
  {
    name: 'searched-metadata-not-erased',
    mistake: 'the search table of metadata is not erased',
    find: 'eraseTransfers(named), eraseMetadata(named), ',
    replace: 'eraseTransfers(named), ',
    witnesses: [EVERYWHERE],
  },
  {
    name: 'compact-events-not-erased',
    mistake: 'only events in the full form are searched for the card',
    find: "case when left(payload, 1) = '[' then '' else 'card_id\":' end",
    replace: "'card_id\":'",
    witnesses: [STORE],
  },
  {
    name: 'full-events-not-erased',
    mistake: 'only events in the compact form are searched for the card',
    find: "position(case when left(payload, 1) = '[' then '' else 'card_id\":' end || to_json(:cardName::text)::text in payload) > 0",
    replace: "left(payload, 1) = '[' and position(to_json(:cardName::text)::text in payload) > 0",
    witnesses: [STORE],
  },
  {
    name: 'answers-not-erased',
    mistake: 'responses of webhook receivers that repeat events are not erased',
    find: '...(about.length === 0 ? [] : [',
    replace: '...(about.length >= 0 ? [] : [',
    witnesses: [EVERYWHERE],
  },
  {
    name: 'erased-transfers-decided-on',
    mistake: 'a change that was decided before the erasure writes the texts of the transfer again',
    find: 'eraseReversals(named), raiseVersionOfCard(erasure)]',
    replace: 'eraseReversals(named)]',
    also: [{ file: BATCHES, find: 'writes: [raiseVersionOfCard(erasure), endStep', replace: 'writes: [endStep' }],
    witnesses: [STORE],
  },
  {
    name: 'late-errors-not-erased',
    mistake: 'an error that waits in a file is stored later with the erased texts',
    find: '    new.request := null;\n',
    replace: '',
    witnesses: [STORE, EVERYWHERE],
  },
  {
    name: 'webhooks-not-read-again',
    mistake: 'a webhook sends erased texts from memory',
    find: 'writes: [rereadWebhooks({ programId }), endStep',
    replace: 'writes: [endStep',
    witnesses: [DELIVERY],
  },
  {
    name: 'holder-in-audit-log',
    mistake: 'the audit log, which never changes, contains texts about a holder',
    find: '!names.includes(name) || value === null',
    replace: "!names.includes(name) || name === 'metadata' || value === null",
    witnesses: [EVERYWHERE],
  },
];
