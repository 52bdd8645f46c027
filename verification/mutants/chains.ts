import type { Edit, Mutant, Witness } from './mutant.ts';

const chain = (only: string): Witness => ({ file: 'test/store/chain/guards.test.ts', only });

const separate = (only: string): Witness => ({ file: 'test/store/chain/separate-reads.test.ts', only });

/** The trigger that raises the version of an account when a statement does not. */
const NO_TRIGGER: Edit = {
  find: 'when (new.version = old.version) execute function',
  replace: 'when (false) execute function',
};

/** Mistakes about groups that are decided on uncommitted changes of other groups. */
export const CHAINS: readonly Mutant[] = [
  {
    name: 'version-not-compared',
    mistake: 'a chained group is saved although the version of an account has changed since its decision',
    find: 'and account.sequence = sent.sequence_before and account.version = sent.version_before\n',
    replace: 'and account.sequence = sent.sequence_before and sent.version_before is not null\n',
    witnesses: [chain('a card that was suspended between its decision')],
  },
  {
    name: 'sequence-not-compared',
    mistake: 'a chained group is saved although money has been moved without a new version since its decision',
    find: 'and account.sequence = sent.sequence_before and account.version = sent.version_before\n',
    replace: 'and sent.sequence_before is not null and account.version = sent.version_before\n',
    witnesses: [chain('without the trigger that raises the version')],
  },
  {
    name: 'refusals-left-out-of-the-guard',
    mistake: 'the guard compares only the accounts that a group changes',
    find: '...some(examined, updateAccountsIfUnchanged)',
    replace:
      '...some(examined.filter(({ before, after }) => before.sequence !== after.sequence), updateAccountsIfUnchanged)',
    witnesses: [chain('with a key')],
  },
  {
    name: 'unwritten-refusals-not-checked',
    mistake: 'a refusal that is not stored is final, even if it was decided on stale reads',
    find: 'check: examined.length === 0 ? null : checkAccountsUnchanged(examined)',
    replace: 'check: examined.length >= 0 ? null : checkAccountsUnchanged(examined)',
    witnesses: [chain('without a key')],
  },
  {
    name: 'version-read-last',
    mistake: 'the versions of accounts are read after the cards, so a change between the two is hidden',
    find: '    accounts: isKnown || isOneRead ? null : accountsFor(cards, changes, mode),\n',
    replace: '',
    also: [
      {
        find: '    references: references.length === 0 ? null : readReferences(references),\n',
        replace:
          '    references: references.length === 0 ? null : readReferences(references),\n    accounts: isKnown || isOneRead ? null : accountsFor(cards, changes, mode),\n',
      },
    ],
    witnesses: [chain('suspended between the reads of a group')],
  },
  {
    name: 'counters-read-before-the-version',
    mistake:
      "a program's counters are read before the version of its funding account, so a transfer between the two is hidden",
    find: '    cardsWithAccounts: cards.length > 0 && isOneRead ? readCardsWithAccounts(cards) : null,\n',
    replace: '',
    also: [
      {
        find: '    cardsOfTransfers: changes.length',
        replace:
          '    cardsWithAccounts: cards.length > 0 && isOneRead ? readCardsWithAccounts(cards) : null,\n    cardsOfTransfers: changes.length',
      },
    ],
    witnesses: [separate('counts a transfer towards the limit')],
  },
  {
    name: 'groups-without-writes-counted',
    mistake:
      'cards count as committed after three groups, even if those write nothing and have not waited for the groups before',
    find: '    this.#memory.beginGroup();\n',
    replace: '',
    also: [
      {
        find: '        const before = interruptions();\n',
        replace: '        const before = interruptions();\n        memory.beginGroup();\n',
      },
    ],
    witnesses: [separate('remembers nothing that was rolled back')],
  },
  {
    name: 'thrown-decision-not-repeated',
    mistake: 'an error that a decision throws on reads from different moments is final',
    find: 'error instanceof StoreFailure ? error.accountsChanged : !(error instanceof CommitUnknown)',
    replace: 'error instanceof StoreFailure && error.accountsChanged',
    witnesses: [separate('captures a transfer that is executed while a group reads it')],
  },
  {
    name: 'version-not-raised-by-cards',
    mistake: 'a change of a card does not raise the version of its account',
    find: 'create trigger card_raises_version after update on card for each row execute function raise_account_version();',
    replace: '',
    witnesses: [chain('a card that was suspended between its decision')],
  },
  {
    name: 'version-not-raised-for-others',
    mistake: 'an account keeps its version when a service of an earlier version changes it',
    ...NO_TRIGGER,
    witnesses: [chain('a service of an earlier version')],
  },
  {
    name: 'version-not-raised-under-locks',
    mistake: 'a group that locks accounts does not raise their version, so its hold is not noticed',
    find: ', version = account.version + 1\n',
    replace: ', version = account.version\n',
    also: [NO_TRIGGER],
    witnesses: [chain('a group that locks accounts first')],
  },
  {
    name: 'version-not-raised-in-chains',
    mistake: 'a chained group does not raise the version of accounts, so its hold is not noticed',
    find: 'version: before.version + 1n',
    replace: 'version: before.version',
    also: [NO_TRIGGER],
    witnesses: [chain('another chain')],
  },
  {
    name: 'version-not-raised-by-transfers',
    mistake: 'a transfer that changes without changing its accounts does not raise their version',
    find: 'if (card !== undefined) this.#accounts.raiseVersion(card.accountId);',
    replace: 'if (card === null) this.#accounts.raiseVersion(card.accountId);',
    witnesses: [chain('does not cancel a transfer that another process has canceled')],
  },
  {
    name: 'same-transfer-decided-twice',
    mistake: 'a transfer is read without the changes of a group in flight',
    find: 'return change !== undefined && this.#links.some(',
    replace: 'return change === null && this.#links.some(',
    witnesses: [chain('waits if it changes the same transfer')],
  },
  {
    name: 'rules-remembered',
    mistake: 'a chain remembers the rules of programs',
    find: 'this.#rules = new Map(loaded.rules.map(toRulesNow).map((found) => [found.rules.programId, found]));',
    replace: `const kept = memory as unknown as { rules?: Map<string, RulesNow> };
    kept.rules ??= new Map();
    for (const found of loaded.rules.map(toRulesNow)) {
      const rules = kept.rules.get(found.rules.programId)?.rules ?? found.rules;
      kept.rules.set(found.rules.programId, { ...found, rules });
    }
    this.#rules = kept.rules;`,
    witnesses: [chain('the rules of a program change')],
  },
  {
    name: 'switch-remembered',
    mistake: 'a chain remembers the switch',
    find: 'this.#rules = new Map(loaded.rules.map(toRulesNow).map((found) => [found.rules.programId, found]));',
    replace: `const kept = memory as unknown as { rules?: Map<string, RulesNow> };
    kept.rules ??= new Map();
    for (const found of loaded.rules.map(toRulesNow)) {
      const switches = kept.rules.get(found.rules.programId)?.switches ?? found.switches;
      kept.rules.set(found.rules.programId, { ...found, switches });
    }
    this.#rules = kept.rules;`,
    witnesses: [chain('the service is disabled')],
  },
  {
    name: 'switch-not-shared-by-chains',
    mistake: 'a change of the switch does not wait for a chained group',
    find: "lockNames: shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),",
    replace:
      "lockNames: mode === 'unlocked' ? null : shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),",
    witnesses: [chain('delays a change of the switch')],
  },
  {
    name: 'chained-on-a-failed-group',
    mistake: 'groups that were decided on a group with an unknown commit continue',
    find: '      this.#isBroken = true;\n      this.#end(link, { error });\n      return false;\n',
    replace: `      if (error instanceof CommitUnknown) {
        this.#end(link, 'committed');
        this.#ends.settle(group, batchId, error);
        return true;
      }
      this.#isBroken = true;
      this.#end(link, { error });
      return false;
`,
    witnesses: [chain('the response of its commit was lost')],
  },
  {
    name: 'remembered-after-a-break',
    mistake: 'a chain begins with the memory of a broken chain',
    find: 'this.#chain = new Chain(chained, {',
    replace: `const lane = this as unknown as { kept?: ReturnType<typeof chained.begin> };
    this.#chain = new Chain({ ...chained, begin: () => (lane.kept ??= chained.begin()) }, {`,
    witnesses: [chain('leave nothing in memory')],
  },
  {
    name: 'limits-not-handed-on',
    mistake: 'the next group of a chain ignores how much of the limits this group has used',
    find: 'this.#memory.keep(after, this.#examined.get(after.accountId)?.days ?? null)',
    replace: 'this.#memory.keep(after, this.#memory.days(after.accountId))',
    witnesses: [chain('counts the usage of the previous group')],
  },
  {
    name: 'late-part-sent-early',
    mistake: 'a chained group does not wait for the acknowledgement of the one before it',
    find: '  if (await place.baseCommitted()) return;',
    replace: '  if (place.baseCommitted() !== false) return;',
    witnesses: [chain('before the previous commit is acknowledged')],
  },
  {
    name: 'retried-before-rollback',
    mistake: 'a failed group is retried while the groups after it still hold locks and connections',
    find: 'else if (chain.isIdle) await this.#recover(chain);',
    replace: 'else if (chain.isBroken) await this.#recover(chain);',
    witnesses: [chain('are rolled back before it is tried again')],
  },
];
