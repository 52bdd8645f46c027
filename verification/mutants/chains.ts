import type { Edit, Edits, Mutants, Witness } from './mutant.ts';

const chain = (only: string): Witness => ({ file: 'test/store/chain/guards.test.ts', only });

const separate = (only: string): Witness => ({ file: 'test/store/chain/separate-reads.test.ts', only });

/** The trigger that raises the version of an account when a statement does not. */
const NO_TRIGGER: Edits = {
  '0011_account_version.sql': ['new.version = old.version', 'false'],
};

/** Keeps part of the rules that the chain read first. */
const remembering = (part: string): Edit => [
  'this.#rules = new Map(loaded.rules.map(toRulesNow).map((found) => [found.rules.programId, found]));',
  `const kept = memory as unknown as { rules?: Map<string, RulesNow> };
    kept.rules ??= new Map();
    for (const found of loaded.rules.map(toRulesNow)) {
      const ${part} = kept.rules.get(found.rules.programId)?.${part} ?? found.${part};
      kept.rules.set(found.rules.programId, { ...found, ${part} });
    }
    this.#rules = kept.rules;`,
];

/** Mistakes about groups that are decided on uncommitted changes of other groups. */
export const CHAINS: Mutants = {
  'version-not-compared': {
    mistake: 'a chained group is saved although the version of an account has changed since its decision',
    edits: { UPDATE_IF_UNCHANGED: ['account.version = sent.version_before', 'sent.version_before is not null'] },
    witnesses: [chain('its card was suspended between the decision')],
  },
  'sequence-not-compared': {
    mistake: 'a chained group is saved although money has been moved without a new version since its decision',
    edits: { UPDATE_IF_UNCHANGED: ['account.sequence = sent.sequence_before', 'sent.sequence_before is not null'] },
    witnesses: [chain('without the trigger that raises the version')],
  },
  'refusals-left-out-of-the-guard': {
    mistake: 'the guard compares only the accounts that a group changes',
    edits: {
      chainedWritesOf: ['examined,', 'examined.filter(({ before, after }) => before.sequence !== after.sequence),'],
    },
    witnesses: [chain('with a key')],
  },
  'unwritten-refusals-not-checked': {
    mistake: 'a refusal that is not stored is final, even if it was decided on stale reads',
    edits: { chainedWritesOf: ['examined.length === 0', 'examined.length >= 0'] },
    witnesses: [chain('without a key')],
  },
  'version-read-last': {
    mistake: 'the versions of accounts are read after the cards, so a change between the two is hidden',
    edits: {
      loadFor: [
        ['accounts: isKnown || isOneRead ? null : accountsFor(cards, changes, mode),', ''],
        [
          'references: references.length === 0 ? null : readReferences(references),',
          '$&\n    accounts: isKnown || isOneRead ? null : accountsFor(cards, changes, mode),',
        ],
      ],
    },
    witnesses: [chain('suspended between the reads of a group')],
  },
  'counters-read-before-the-version': {
    mistake:
      "a program's counters are read before the version of its funding account, so a transfer between the two is hidden",
    edits: {
      loadFor: [
        ['cardsWithAccounts: cards.length > 0 && isOneRead ? readCardsWithAccounts(cards) : null,', ''],
        [
          'cardsOfTransfers',
          'cardsWithAccounts: cards.length > 0 && isOneRead ? readCardsWithAccounts(cards) : null,\n    $&',
        ],
      ],
    },
    witnesses: [separate('a transfer counts toward the limit')],
  },
  'groups-without-writes-counted': {
    mistake:
      'cards count as committed after three groups, even if those write nothing and have not waited for the groups before',
    edits: {
      'ExaminedAccounts.handOn': ['this.#memory.beginGroup();', ''],
      chainedWork: ['const before = interruptions();', '$&\n        memory.beginGroup();'],
    },
    witnesses: [separate('remembers nothing that was rolled back')],
  },
  'thrown-decision-not-repeated': {
    mistake: 'an error is final even if the decision threw it because its reads were from different moments',
    edits: {
      'LockingPath.recover': [
        '? error.accountsChanged : !(error instanceof CommitUnknown)',
        '&& error.accountsChanged',
      ],
    },
    witnesses: [separate('a scheduled transfer is captured if another process executes it while the group reads it')],
  },
  'version-not-raised-by-cards': {
    mistake: 'a change of a card does not raise the version of its account',
    edits: {
      '0011_account_version.sql': [
        'create trigger card_raises_version after update on card for each row execute function raise_account_version();',
        '',
      ],
    },
    witnesses: [chain('its card was suspended between the decision')],
  },
  'version-not-raised-for-others': {
    mistake: 'an account keeps its version when a service of an earlier version changes it',
    edits: NO_TRIGGER,
    witnesses: [chain('a service of an earlier version')],
  },
  'version-not-raised-under-locks': {
    mistake: 'a group that locks accounts does not raise their version, so its hold is not noticed',
    edits: { updateAccounts: ['version + 1', 'version'], ...NO_TRIGGER },
    witnesses: [chain('a group that locks accounts first')],
  },
  'version-not-raised-in-chains': {
    mistake: 'a chained group does not raise the version of accounts, so its hold is not noticed',
    edits: { 'ExaminedAccounts.decided': ['version + 1n', 'version'], ...NO_TRIGGER },
    witnesses: [chain('another chain')],
  },
  'version-not-raised-by-transfers': {
    mistake: 'a transfer that changes without changing its accounts does not raise their version',
    edits: { 'Books.#applyChange': ['card !== undefined', 'card === null'] },
    witnesses: [chain('does not cancel a transfer that another process has canceled')],
  },
  'same-transfer-decided-twice': {
    mistake: 'a transfer is read without the changes of a group in flight',
    edits: { 'Chain.concerns': ['change !== undefined', 'change === null'] },
    witnesses: [chain('waits if it changes the same transfer')],
  },
  'rules-remembered': {
    mistake: 'a chain remembers the rules of programs',
    edits: { 'Books.constructor': remembering('rules') },
    witnesses: [chain('the rules of a program change')],
  },
  'switch-remembered': {
    mistake: 'a chain remembers the switch',
    edits: { 'Books.constructor': remembering('switches') },
    witnesses: [chain('the service is disabled')],
  },
  'switch-not-shared-by-chains': {
    mistake: 'a change of the switch does not wait for a chained group',
    edits: { loadFor: ['shareSwitchAndLockNames(names, mode', "mode === 'unlocked' ? null : $&"] },
    witnesses: [chain('delays a change of the switch')],
  },
  'chained-on-a-failed-group': {
    mistake: 'groups that were decided on a group with an unknown commit continue',
    edits: {
      'Chain.#commit': [
        'this.#isBroken = true',
        `if (error instanceof CommitUnknown) {
        this.#end(link, 'committed');
        this.#ends.settle(group, batchId, error);
        return true;
      }
      $&`,
      ],
    },
    witnesses: [chain('the response to its commit was lost')],
  },
  'remembered-after-a-break': {
    mistake: 'a chain begins with the memory of a broken chain',
    edits: {
      'GroupCommit.#openChain': [
        ['this.#chain =', 'const lane = this as unknown as { kept?: ReturnType<typeof chained.begin> };\n    $&'],
        ['chained,', '{ ...chained, begin: () => (lane.kept ??= chained.begin()) },'],
      ],
    },
    witnesses: [chain('leave nothing in memory')],
  },
  'limits-not-handed-on': {
    mistake: 'the next group of a chain ignores how much of the limits this group has used',
    edits: {
      'ExaminedAccounts.handOn': ['#examined.get(after.accountId)?.days ?? null', '#memory.days(after.accountId)'],
    },
    witnesses: [chain('counts the usage of the previous group')],
  },
  'late-part-sent-early': {
    mistake: 'a chained group does not wait for the acknowledgement of the one before it',
    edits: { requireBase: ['await place.baseCommitted()', 'place.baseCommitted() !== false'] },
    witnesses: [chain('before the previous commit is acknowledged')],
  },
  'retried-before-rollback': {
    mistake: 'a failed group is retried while the groups after it still hold locks and connections',
    edits: { 'GroupCommit.#drain': ['chain.isIdle', 'chain.isBroken'] },
    witnesses: [chain('are rolled back before it is tried again')],
  },
};
