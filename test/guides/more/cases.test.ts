import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test, vi } from 'vitest';
import { TransferService } from '../../../sdk/client.ts';
import { followGuide } from '../guide-trial.ts';

/** A stand-in for a help desk. It stores the requests that it receives, by path. */
const stored = new Map<string, unknown>();
const TOKEN = 'of-the-help-desk';

const helpDesk = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const isAllowed = request.method === 'PUT' && request.headers.authorization === `Bearer ${TOKEN}`;
  if (!isAllowed) {
    response.writeHead(401).end();
    return;
  }
  const path = request.url ?? '';
  const body = JSON.parse(String(Buffer.concat(chunks)));
  const [, , caseId = ''] = path.split('/');
  // The help desk refuses a comment on an unknown ticket.
  if (path !== `/tickets/${caseId}` && !stored.has(`/tickets/${caseId}`)) {
    response.writeHead(404).end();
    return;
  }
  stored.set(path, body);
  response.writeHead(204).end();
  // Like real help desks, it reports every comment, even the bridge's own.
  if (path.includes('/comments/')) await tell({ id: path, case_id: caseId, author: 'bridge', text: body.text });
});
await new Promise<void>((listening) => helpDesk.listen(0, '127.0.0.1', listening));
afterAll(() => void helpDesk.close());
const { port } = helpDesk.address() as AddressInfo;

let client: TransferService;
let bridge = '';

async function tell(comment: object, token = TOKEN): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  return (await fetch(`${bridge}/desk`, { method: 'POST', headers, body: JSON.stringify(comment) })).status;
}

followGuide('cases', {
  environment: { DESK_URL: `http://127.0.0.1:${port}`, DESK_TOKEN: TOKEN },
  runsOn: /node bridge/,
  prepare: (_folder, url) => {
    client = new TransferService({ baseUrl: url });
  },
});

test('the bridge copies each message to the other side once, without echoes', async () => {
  const { data: webhooks } = await client.operatorWebhooks.list();
  bridge = new URL(webhooks[0]?.url ?? '').origin;
  const [opened] = (await client.cases.list()).data;
  const case_id = opened?.case_id ?? '';
  const ticket = `/tickets/${case_id}`;
  await vi.waitFor(() => expect(stored.get(ticket)).toMatchObject({ text: 'Where is my transfer?' }), 120_000);
  // The help desk sends a comment, the same comment again, and a comment with a wrong token.
  const comment = { id: 'c1', case_id, author: 'Ada', text: 'Which one?' };
  expect([await tell(comment), await tell(comment), await tell(comment, 'wrong')]).toEqual([204, 204, 401]);
  // The help desk receives a message from the caller, and a message that support wrote elsewhere.
  await client.cases.reply(case_id, { text: 'The one from noon.', external_id: 'desk-of-the-caller' });
  await client.cases.answer(case_id, { text: 'Thank you.' });
  const comments = () => [...stored].flatMap(([path, body]) => (path.startsWith(`${ticket}/comments/`) ? [body] : []));
  await vi.waitFor(() => expect(comments()).toEqual([{ text: 'The one from noon.' }, { text: 'Thank you.' }]), 120_000);
  const solved = { id: 'c2', case_id, author: 'Ada', text: 'It has arrived.', solved: true };
  expect([await tell(solved), await tell(solved)]).toEqual([204, 204]);
  // Events arrive in strict order, and this is the last one.
  await vi.waitFor(() => expect(stored.get(`${ticket}/solved`)).toEqual({ text: 'It has arrived.' }), 120_000);
  expect(comments()).toHaveLength(2);
  const { status, messages } = await client.cases.get(case_id);
  expect(status).toBe('resolved');
  expect(messages).toMatchObject([
    { from: 'support', text: 'Which one?', external_author: 'Ada', external_id: 'desk-c1' },
    { from: 'caller', text: 'The one from noon.' },
    { from: 'support', text: 'Thank you.', external_id: null },
  ]);
  // The bridge refuses unsigned requests.
  expect((await fetch(`${bridge}/hooks`, { method: 'POST', body: '{"type": "case.opened"}' })).status).toBe(400);
});
