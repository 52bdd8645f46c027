import { afterAll, expect, test } from 'vitest';
import { exampleReply } from '../../../contract/examples.ts';
import type { OperationId } from '../../../contract/operations.ts';
import { startCannedService } from '../../sdk/canned-service.ts';
import { runHere } from '../in-process.ts';

const service = await startCannedService();
afterAll(() => service.close());

const KEY_ID = `key_${'0123456789abcdef'.repeat(2)}`;
const NAMED = 'Ada, support (…abcdef)';

const replyOf = (operation: OperationId, more: object = {}) => ({
  status: 200,
  body: { ...Object(exampleReply(operation)), ...more },
});
const pageOf = (operation: OperationId, more: object) => {
  const [one] = Object(exampleReply(operation)).data;
  return { status: 200, body: { data: [{ ...one, ...more }], next_cursor: null } };
};
const session = (scopes: readonly string[]) => replyOf('get_session', { key_id: 'key_1', key_name: 'Own', scopes });
const keys = pageOf('list_keys', { key_id: KEY_ID, name: 'Ada, support' });

test.each([
  ['audit list', pageOf('list_audit_entries', { actor: KEY_ID })],
  ['switch show', pageOf('get_switch', { actor: KEY_ID })],
  ['transfers get tr_1', replyOf('get_transfer', { created_by: KEY_ID })],
  ['breaks close brk_1 --note x', replyOf('close_break', { closed_by: KEY_ID })],
])('%s shows the name of the key that acted', async (text, reply) => {
  service.play(reply, session(['operator:read']), keys);
  const { exitCode, output } = await runHere(service.url, text.split(' '));
  expect(exitCode).toBe(0);
  expect(output).toContain(NAMED);
  expect(output).not.toContain(KEY_ID);

  service.play(reply);
  expect((await runHere(service.url, ['--json', ...text.split(' ')])).output).toContain(KEY_ID);
  expect(service.received).toHaveLength(1);
});

test('shows ids if the caller may not read keys, and sends no request that would be refused', async () => {
  service.play(pageOf('list_audit_entries', { actor: KEY_ID }), session(['transfers:read']));
  expect((await runHere(service.url, ['audit', 'list'])).output).toContain(KEY_ID);
  expect(service.received.map(({ url }) => url.split('?')[0])).toEqual([
    '/api/v0.1/operator/audit',
    expect.stringMatching(/session$/),
  ]);
});

test('shows the name of the person who acted', async () => {
  const id = `per_${'0123456789abcdef'.repeat(2)}`;
  const people = pageOf('list_people', { person_id: id, name: 'Ada Okafor' });
  service.play(pageOf('list_audit_entries', { actor: id }), session(['operator:read']), people);
  const { output } = await runHere(service.url, ['audit', 'list']);
  expect(output).toContain('Ada Okafor (…abcdef)');
  expect(output).not.toContain(id);
});

test('shows the id of a person without a name', async () => {
  const id = `per_${'0123456789abcdef'.repeat(2)}`;
  const people = pageOf('list_people', { person_id: id, name: null });
  service.play(pageOf('list_audit_entries', { actor: id }), session(['operator:read']), people);
  expect((await runHere(service.url, ['audit', 'list'])).output).toContain(id);
});
