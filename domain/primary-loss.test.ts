import { expect, test } from 'vitest';
import { type ReplicationFacts, survivalOf } from './primary-loss.ts';

const sync = { syncState: 'sync' };
const quorum = { syncState: 'quorum' };

const SAFE: ReplicationFacts = {
  standbyNames: 'standby',
  maxWalSenders: 10,
  synchronousCommit: 'on',
  standbyList: [sync, { syncState: 'async' }],
  managedBy: null,
};

test.each<[string, Partial<ReplicationFacts>, string, RegExp]>([
  ['one synchronous standby', {}, 'yes', /^A commit is acknowledged once a synchronous standby has it on disk\.$/],
  ['synchronous_commit remote_apply', { synchronousCommit: 'remote_apply' }, 'yes', /on disk\.$/],
  ['FIRST with a list', { standbyNames: 'FIRST 1 (a, b)' }, 'yes', /once a synchronous/],
  [
    'ANY with a list',
    { standbyNames: 'ANY 2 (a, b, c)', standbyList: [quorum, quorum, quorum] },
    'yes',
    /once 2 synchronous standbys have it/,
  ],
  ['a number and a list, in the older syntax', { standbyNames: '2(a,b)', standbyList: [sync, sync] }, 'yes', /once 2 /],
  [
    'a star, which matches any name',
    { standbyNames: '*' },
    'yes',
    /on disk\. synchronous_standby_names has a \*, so any program that receives the WAL/,
  ],
  [
    'ANY with a list that contains a star',
    { standbyNames: 'ANY 1 ("*", b)', standbyList: [quorum] },
    'yes',
    /has a \*/,
  ],
  ['a name that contains a star', { standbyNames: '"a*"' }, 'yes', /on disk\.$/],
  [
    'no name of a standby',
    { standbyNames: '' },
    'no',
    /^No synchronous standby is set: synchronous_standby_names is empty\.$/,
  ],
  ['spaces only', { standbyNames: ' ' }, 'no', /is empty/],
  ['no connection for a standby', { maxWalSenders: 0 }, 'no', /^max_wal_senders is 0/],
  [
    'synchronous_commit off',
    { synchronousCommit: 'off' },
    'no',
    /^synchronous_commit is off in the sessions of the service/,
  ],
  ['synchronous_commit local', { synchronousCommit: 'local' }, 'no', /^synchronous_commit is local /],
  [
    'synchronous_commit remote_write',
    { synchronousCommit: 'remote_write' },
    'no',
    /does not survive a power loss of both machines/,
  ],
  ['no privilege to see the standbys', { standbyList: null }, 'unknown', /GRANT pg_monitor/],
  [
    'a managed server without a name',
    { standbyNames: '', managedBy: 'Amazon RDS' },
    'unknown',
    /cannot know whether Amazon RDS replicates its disk/,
  ],
  ['a managed server with a name', { managedBy: 'Amazon RDS' }, 'yes', /on disk/],
])('says whether a commit would survive: %s', (_name, difference, answer, reason) => {
  const found = survivalOf({ ...SAFE, ...difference }, false);
  expect(found).toEqual({ answer, reason: expect.stringMatching(reason), isWaiting: false });
});

test.each<[string, Partial<ReplicationFacts>, RegExp]>([
  ['no standby is connected', { standbyList: [] }, /^No synchronous standby is connected, so commits wait\./],
  ['only an asynchronous standby is connected', { standbyList: [{ syncState: 'async' }] }, /^No synchronous standby/],
  [
    'too few synchronous standbys are connected',
    { standbyNames: 'FIRST 2 (a, b)', standbyList: [sync, { syncState: 'async' }] },
    /^Only 1 of 2 synchronous standbys are connected, so commits wait\./,
  ],
])('cannot tell whether a commit would survive if commits wait because %s', (_name, difference, reason) => {
  const found = survivalOf({ ...SAFE, ...difference }, false);
  expect(found).toEqual({ answer: 'unknown', reason: expect.stringMatching(reason), isWaiting: true });
});

test('says that the embedded server is on one machine only', () => {
  const found = survivalOf({ ...SAFE, standbyNames: '', standbyList: [] }, true);
  expect(found).toMatchObject({ answer: 'no', reason: expect.stringContaining('on this machine only') });
});
