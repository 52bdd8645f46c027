import { SECOND_PEOPLE } from './approvals.ts';
import { CHAINS } from './chains.ts';
import { CONTRACTS } from './contract.ts';
import { ERASURES } from './erasure.ts';
import { EVENTS_SENT } from './event-types.ts';
import { CLOCKS, CROWDS, WALLS } from './guards.ts';
import { KEYS } from './keys.ts';
import type { Mutant, Mutants, Witness } from './mutant.ts';
import { METRICS, OBSERVING } from './observing.ts';
import { ATTEMPTS } from './processors/attempts.ts';
import { CONNECTORS } from './processors/connectors.ts';
import { READINESSES } from './readiness.ts';
import { READING } from './reading.ts';
import { RELAYS } from './relay.ts';
import { RULES } from './rules.ts';
import { SESSIONS } from './sessions.ts';
import { UPGRADES } from './upgrades.ts';
import { FAILING, ORDER, OUTBOUND, SENDING } from './webhooks.ts';

const LOCKS: Witness = { file: 'test/store/locks.test.ts' };
const COMMIT: Witness = { file: 'test/store/commit.test.ts' };
const TRANSFERS: Witness = { file: 'test/store/transfers.test.ts' };
const GROUPS: Witness = { file: 'test/store/groups.test.ts' };
const STANDBY: Witness = { file: 'test/crashes/standby.test.ts' };
const REQUIRED_STANDBY: Witness = { file: 'test/crashes/required-standby.test.ts' };
const KILLS: Witness = { file: 'test/crashes/kill.test.ts' };

/** Mistakes about durability: something is acknowledged before it is durable. */
const COMMITS = {
  'answer-before-commit': {
    mistake: 'the response is sent before COMMIT is acknowledged',
    edits: {
      'Database.transact': [
        ['await save', 'void save'],
        ['this.#standby)', '$&.catch(() => 0)'],
      ],
      'Database.transactChained': [
        ['isAhead) await save', 'isAhead) void save'],
        ['this.#standby)', '$&.catch(() => 0)'],
      ],
    },
    witnesses: [{ file: 'test/store/commit.test.ts', only: 'creates nothing' }, KILLS],
  },
  'commit-asynchronous': {
    mistake: 'COMMIT is acknowledged before its WAL is on disk',
    edits: { PINNED: ["'synchronous_commit', 'on'", "'synchronous_commit', 'off'"] },
    witnesses: [KILLS],
  },
  'unknown-commit-read-back': {
    mistake: 'a lost COMMIT counts as rolled back if a read does not find it yet',
    edits: {
      'Database.#fence': [
        ['await this.writeUnguarded({ ...ABANDON, values: [batchId] });', ''],
        ['row?.abandoned === true', 'ABANDON === undefined || row === undefined'],
      ],
    },
    witnesses: [COMMIT],
  },
  'error-at-commit-believed': {
    mistake:
      'an error in response to COMMIT counts as a rollback, although a pooler may report a lost response as an error',
    edits: { save: ['failed === commit || ', ''] },
    witnesses: [{ file: 'test/faults/commit.test.ts', only: 'the reply arrives as an error' }],
  },
  'warning-at-commit-ignored': {
    mistake: 'a commit that is only "committed locally" is acknowledged',
    edits: { save: ['if (warned) throw new', 'if (!warned) return;\n  new'] },
    witnesses: [{ ...STANDBY, only: 'if an administrator cancels the wait' }],
  },
  'required-standby-not-fenced': {
    mistake: 'a transfer is committed and acknowledged although the required standby is not configured',
    edits: { INSERT_FENCE: ['clock_timestamp() end', 'clock_timestamp() else $&'] },
    witnesses: [REQUIRED_STANDBY],
  },
  'required-standby-not-checked': {
    mistake: 'a commit is acknowledged although it silently stopped waiting for a required standby',
    edits: { save: ['hasWaited(begun, check.value?.rows[0])', '($& || true)'] },
    witnesses: [REQUIRED_STANDBY],
  },
  'settle-without-barrier': {
    mistake: 'a lost COMMIT is found on the primary and acknowledged before the standby has it',
    edits: {
      'Database.#fence': [
        "(await this.confirm(String(row.replicated), deadline)) ? 'committed' : 'unknown'",
        "'committed'",
      ],
    },
    witnesses: [STANDBY],
  },
  'replay-without-fence': {
    mistake: 'a repeated key gets its stored result before the standby has that result',
    edits: { leave: ['!isLasting', '$& && result === undefined'] },
    witnesses: [STANDBY],
  },
  'read-without-fence': {
    mistake: 'a look-up shows a transfer before the standby has it',
    edits: { confirmReplicated: ['(await database.confirm(String(open.replicated), deadline))', 'deadline > 0'] },
    witnesses: [STANDBY],
  },
  'fence-on-another-server': {
    mistake: 'a replay found on the old primary is confirmed by a commit on the new one',
    edits: { 'Standby.#tryUntil': ['acknowledged === server', 'true'] },
    witnesses: [STANDBY],
  },
  'replay-beside-a-doubt-denied': {
    mistake: 'a replay gets "no money moved", although its group was committed on the primary alone',
    edits: { transferOf: ["toWireId('tr', outcome.subjectId)", 'undefined'] },
    witnesses: [STANDBY],
  },
} as const satisfies Mutants;

export type MutantOfCommits = keyof typeof COMMITS;

/** Mistakes about locks, and about reads from before the lock. */
const STALE_READS: Mutants = {
  'account-lock-left-out': {
    mistake: 'accounts are read without a lock',
    edits: { 'ENDS.wait': ['for no key update', 'limit 1'] },
    witnesses: [{ file: 'test/store/chain/guards.test.ts', only: 'a group outside a chain locks its accounts' }],
  },
  'locks-and-reads-in-one-statement': {
    mistake:
      "the statement that waits for an account's lock also reads its balance, so it sees the balance from before the wait",
    edits: {
      accountsText: [
        `    select \${ACCOUNT.names} from account
    where account.program_id = ordered.program_id and account.account_id = ordered.account_id
    \${ENDS[mode]}
  ) as account`,
        `    select account.account_id as locked_id from account
    where account.program_id = ordered.program_id and account.account_id = ordered.account_id
    \${ENDS[mode]}
  ) as locked
  cross join lateral (
    select \${ACCOUNT.names} from account
    where account.program_id = ordered.program_id and account.account_id = locked.locked_id
  ) as account`,
      ],
    },
    witnesses: [TRANSFERS, LOCKS],
  },
  'switch-read-before-its-lock': {
    mistake: 'the switch is read before it is locked, so a change made during the wait is missed',
    edits: {
      loadFor: [
        ["lockNames: shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),", ''],
        [
          'rules: readProgramRules(programIds, !isKnown),',
          "$&\n    lockNames: shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),",
        ],
      ],
    },
    witnesses: [LOCKS],
  },
  'switch-lock-left-out': {
    mistake: "transfers do not share the switch's lock, so transfers in flight complete after disable has responded",
    edits: { shareAndLock: [`pg_advisory_xact_lock_shared(\${SWITCH_SPACE}, \${SWITCH_NUMBER})`, "''"] },
    witnesses: [LOCKS],
  },
  'group-forgets-its-references': {
    mistake: 'a reference that one group uses twice does not count as a duplicate',
    edits: { 'References.take': ['transfer.reference !== null', 'transfer.reference === undefined'] },
    witnesses: [GROUPS],
  },
};

/** A mutant of the tables. */
export type NamedMutant = Mutant & { readonly name: string };

/** All mutants. */
export const MUTANTS: readonly NamedMutant[] = [
  COMMITS,
  STALE_READS,
  CHAINS,
  KEYS,
  SESSIONS,
  RULES,
  SECOND_PEOPLE,
  WALLS,
  CLOCKS,
  CROWDS,
  RELAYS,
  ATTEMPTS,
  READING,
  EVENTS_SENT,
  ERASURES,
  METRICS,
  OUTBOUND,
  SENDING,
  ORDER,
  FAILING,
  CONNECTORS,
  OBSERVING,
  UPGRADES,
  READINESSES,
  CONTRACTS,
].flatMap((subject) => Object.entries<Mutant>(subject).map(([name, mutant]) => ({ name, ...mutant })));
