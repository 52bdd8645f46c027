import { CHAINS } from './chains.ts';
import { CONTRACTS } from './contract.ts';
import { ERASURES } from './erasure.ts';
import { EVENTS_SENT } from './event-types.ts';
import { CLOCKS, CROWDS, WALLS } from './guards.ts';
import { KEYS } from './keys.ts';
import { METRICS } from './metrics.ts';
import type { Mutant, Witness } from './mutant.ts';
import { OBSERVING } from './observing.ts';
import { ATTEMPTS } from './processors/attempts.ts';
import { CONNECTORS } from './processors/connectors.ts';
import { READINESSES } from './readiness.ts';
import { READING } from './reading.ts';
import { RELAYS } from './relay.ts';
import { SESSIONS } from './sessions.ts';
import { UPGRADES } from './upgrades.ts';
import { WEBHOOKS } from './webhooks.ts';

const LOCKS: Witness = { file: 'test/store/locks.test.ts' };
const COMMIT: Witness = { file: 'test/store/commit.test.ts' };
const TRANSFERS: Witness = { file: 'test/store/transfers.test.ts' };
const GROUPS: Witness = { file: 'test/store/groups.test.ts' };
const STANDBY: Witness = { file: 'test/crashes/standby.test.ts' };
const REQUIRED_STANDBY: Witness = { file: 'test/crashes/required-standby.test.ts' };
const KILLS: Witness = { file: 'test/crashes/kill.test.ts' };

/** Mistakes about durability: something is acknowledged before it is durable. */
const COMMITS: readonly Mutant[] = [
  {
    name: 'answer-before-commit',
    mistake: 'the response is sent before COMMIT is acknowledged',
    find: 'else await save(client, work.batchId, [decision.writes], decision.result, this.#standby);',
    replace: 'else void save(client, work.batchId, [decision.writes], decision.result, this.#standby).catch(() => 0);',
    also: [
      {
        find: 'else if (!isAhead) await save(client, batchId, [[...early, ...late]], result, this.#standby);',
        replace:
          'else if (!isAhead) void save(client, batchId, [[...early, ...late]], result, this.#standby).catch(() => 0);',
      },
    ],
    // Caught by its wrong response, not by the round trip that it saves.
    witnesses: [{ file: 'test/store/commit.test.ts', only: 'makes nothing' }, KILLS],
  },
  {
    name: 'commit-asynchronous',
    mistake: 'COMMIT is acknowledged before its WAL is on disk',
    find: "['synchronous_commit', 'on'],",
    replace: "['synchronous_commit', 'off'],",
    witnesses: [KILLS],
  },
  {
    name: 'unknown-commit-read-back',
    mistake: 'a lost COMMIT counts as rolled back if a read does not find it yet',
    find: '        await this.writeUnguarded({ ...ABANDON, values: [batchId] });\n',
    replace: '',
    also: [
      {
        find: "if (row?.abandoned === true) return 'abandoned';",
        replace: "if (ABANDON === undefined || row === undefined) return 'abandoned';",
      },
    ],
    witnesses: [COMMIT],
  },
  {
    name: 'error-at-commit-believed',
    mistake:
      'an error in response to COMMIT counts as a rollback, although a pooler may report a lost response as an error',
    find: 'if (failed === undefined || failed === commit || describeFailure(reason).connectionLost)',
    replace: 'if (failed === undefined || describeFailure(reason).connectionLost)',
    witnesses: [{ file: 'test/faults/commit.test.ts', only: 'the reply arrives as an error' }],
  },
  {
    name: 'warning-at-commit-ignored',
    mistake: 'a commit that is only "committed locally" is acknowledged',
    find: 'if (warned) throw new CommitUnknown',
    replace: 'if (!warned) return;\n  new CommitUnknown',
    witnesses: [{ file: 'test/faults/unknown-commit.test.ts', only: 'the server warns' }],
  },
  {
    name: 'required-standby-not-fenced',
    mistake: 'a transfer is committed and acknowledged although the required standby is not configured',
    find: 'then clock_timestamp() end',
    replace: 'then clock_timestamp() else clock_timestamp() end',
    witnesses: [REQUIRED_STANDBY],
  },
  {
    name: 'required-standby-not-checked',
    mistake: 'a commit is acknowledged although it silently stopped waiting for a required standby',
    find: 'hasWaited(begun, check.value?.rows[0])',
    replace: '(hasWaited(begun, check.value?.rows[0]) || true)',
    witnesses: [REQUIRED_STANDBY],
  },
  {
    name: 'settle-without-barrier',
    mistake: 'a lost COMMIT is found on the primary and acknowledged before the standby has it',
    find: "(await this.confirm(String(row.replicated), deadline)) ? 'committed' : 'unknown'",
    replace: "'committed'",
    witnesses: [STANDBY],
  },
  {
    name: 'replay-without-fence',
    mistake: 'a repeated key gets its stored result before the standby has that result',
    find: 'if (!isLasting) throw new CommitUnknown(',
    replace: 'if (!isLasting && result === undefined) throw new CommitUnknown(',
    witnesses: [STANDBY],
  },
  {
    name: 'read-without-fence',
    mistake: 'a look-up shows a transfer before the standby has it',
    find: 'if (open === undefined || (await database.confirm(String(open.replicated), deadline))) return;',
    replace: 'if (open === undefined || deadline > 0) return;',
    witnesses: [STANDBY],
  },
  {
    name: 'fence-on-another-server',
    mistake: 'a replay found on the old primary is confirmed by a commit on the new one',
    find: 'return acknowledged === server;',
    replace: 'return true;',
    witnesses: [STANDBY],
  },
  {
    name: 'replay-beside-a-doubt-denied',
    mistake: 'a replay gets "no money moved", although its group was committed on the primary alone',
    find: "return 'subjectId' in outcome ? toWireId('tr', outcome.subjectId) : outcome.record.transfer_id;",
    replace: "return 'subjectId' in outcome ? undefined : outcome.record.transfer_id;",
    witnesses: [STANDBY],
  },
];

/** Mistakes about locks, and about reads from before the lock. */
const STALE_READS: readonly Mutant[] = [
  {
    name: 'account-lock-left-out',
    mistake: 'accounts are read without a lock',
    find: "  wait: 'for no key update',\n",
    replace: "  wait: 'limit 1',\n",
    witnesses: [{ file: 'test/store/chain/guards.test.ts', only: 'a group outside a chain locks its accounts' }],
  },
  {
    name: 'locks-and-reads-in-one-statement',
    mistake:
      "the statement that waits for an account's lock also reads its balance, so it sees the balance from before the wait",
    find: `    select \${ACCOUNT.names} from account
    where account.program_id = ordered.program_id and account.account_id = ordered.account_id
    \${ENDS[mode]}
  ) as account`,
    replace: `    select account.account_id as locked_id from account
    where account.program_id = ordered.program_id and account.account_id = ordered.account_id
    \${ENDS[mode]}
  ) as locked
  cross join lateral (
    select \${ACCOUNT.names} from account
    where account.program_id = ordered.program_id and account.account_id = locked.locked_id
  ) as account`,
    witnesses: [TRANSFERS, LOCKS],
  },
  {
    name: 'switch-read-before-its-lock',
    mistake: 'the switch is read before it is locked, so a change made during the wait is missed',
    find: "    lockNames: shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),\n",
    replace: '',
    also: [
      {
        find: '    rules: readProgramRules(programIds, !isKnown),\n',
        replace:
          "    rules: readProgramRules(programIds, !isKnown),\n    lockNames: shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),\n",
      },
    ],
    witnesses: [LOCKS],
  },
  {
    name: 'switch-lock-left-out',
    mistake: "transfers do not share the switch's lock, so transfers in flight complete after disable has responded",
    find: `select pg_advisory_xact_lock_shared(\${SWITCH_SPACE}, \${SWITCH_NUMBER})::text, null::bigint as hash`,
    replace: `select ''::text, null::bigint as hash`,
    witnesses: [LOCKS],
  },
  {
    name: 'group-forgets-its-references',
    mistake: 'a reference that one group uses twice does not count as a duplicate',
    find: '    if (transfer.reference !== null) this',
    replace: '    if (transfer.reference === undefined) this',
    witnesses: [GROUPS],
  },
];

/** Mistakes about money, holds and limits that the rules do not show. The model checks the rules (`verification/environments/domain`). */
const MONEY: readonly Mutant[] = [
  {
    name: 'hold-kept-after-its-end',
    mistake: 'the row of a captured hold is not deleted',
    find: '...some([...changes.ended.values()], deleteHolds),',
    replace: '...some([...changes.ended.values()].slice(1), deleteHolds),',
    witnesses: [TRANSFERS],
  },
];

/** All mutants. */
export const MUTANTS: readonly Mutant[] = [
  ...COMMITS,
  ...STALE_READS,
  ...CHAINS,
  ...KEYS,
  ...SESSIONS,
  ...MONEY,
  ...WALLS,
  ...CLOCKS,
  ...CROWDS,
  ...RELAYS,
  ...ATTEMPTS,
  ...READING,
  ...EVENTS_SENT,
  ...ERASURES,
  ...METRICS,
  ...WEBHOOKS,
  ...CONNECTORS,
  ...OBSERVING,
  ...UPGRADES,
  ...READINESSES,
  ...CONTRACTS,
];
