import { connect as connectTo, type Socket } from 'node:net';
import { afterAll, expect } from 'vitest';
import { KEY_SCOPES } from '../../contract/scope.ts';
import type { RefusedCredential } from '../../server/calls/call.ts';
import {
  openSessionAuthentication,
  openSessionUses,
  type SessionUseNotes,
} from '../../server/subjects/sessions/authenticate-session.ts';
import { ledgerGateway, startHttpServer } from '../harness/http-server.ts';
import type { Ledger } from '../harness/ledger.ts';

/** Where sessions are made, read and ended. */
export const SESSION = '/api/v0.1/console/session';

/** The response to a request, as it came over the socket. */
export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Lines of a head; a name can come twice. */
export type Lines = readonly string[];

/** A service of this process, reached over sockets, where nothing adds a header that a test did not write. */
export type SessionService = {
  readonly port: number;
  /** Sends one request with exactly these lines after the request line. */
  readonly ask: (method: string, path: string, lines: Lines) => Promise<Answer>;
  /** What the audit log would be told of refused credentials. */
  readonly refused: RefusedCredential[];
  readonly uses: SessionUseNotes;
  readonly stop: () => Promise<void>;
};

/** Starts a service over a ledger; `trustedProxies` are those in front of it. */
export async function startSessionService(
  ledger: Ledger,
  { keyless = false, trustedProxies = 0 }: { readonly keyless?: boolean; readonly trustedProxies?: number } = {},
): Promise<SessionService> {
  const refused: RefusedCredential[] = [];
  const uses = openSessionUses(ledger.database);
  const gateway = ledgerGateway(ledger, {
    mode: keyless ? 'sandbox' : 'live',
    keyless,
    onRefusedCredential: (credential) => refused.push(credential),
    authenticateSession: openSessionAuthentication(ledger.databases.authentication, {
      noteSession: uses.note,
      noteKey: () => undefined,
    }),
  });
  const { server, port } = await startHttpServer(gateway, {
    settings: { trustedProxies, streamPulseMilliseconds: 200 },
  });
  const ask = (method: string, path: string, lines: Lines): Promise<Answer> =>
    sendLines(port, [`${method} ${path} HTTP/1.1`, ...lines, 'Connection: close', 'Content-Length: 0']);
  const stop = (): Promise<void> => server.close();
  afterAll(stop);
  return { port, ask, refused, uses, stop };
}

/** Writes a head to a socket and reads what comes until it closes. */
function sendLines(port: number, lines: Lines): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket: Socket = connectTo(port, '127.0.0.1');
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n', 2);
      const [statusLine = '', ...sent] = head.split('\r\n');
      const headers = new Headers();
      for (const line of sent)
        headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim());
      resolve({
        status: Number(statusLine.split(' ')[1]),
        headers,
        fields: body.startsWith('{') ? JSON.parse(body) : {},
      });
    });
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}

/** A new key; by default it may do everything. */
export async function makeKey(ledger: Ledger, members: object = { all_programs: true, scopes: [...KEY_SCOPES] }) {
  const { body } = await ledger.call('create_key', { name: 'Ada', ...members });
  return JSON.parse(body) as { readonly key: string; readonly key_id: string };
}

/** What a page of the service itself sends, beside the cookie. */
export const ownPage = (port: number): Lines => [
  `Host: localhost:${port}`,
  'Sec-Fetch-Site: same-origin',
  'Console: 1',
];

/** Signs in with a key, as the page of the service does; gives the `name=value` of the cookie and the session's id. */
export async function signIn(
  service: SessionService,
  key: string,
  more: Lines = [],
): Promise<{ readonly cookie: string; readonly setCookie: string; readonly sessionId: string }> {
  const lines = [...ownPage(service.port), `Authorization: Bearer ${key}`, ...more];
  const made = await service.ask('POST', SESSION, lines);
  expect(made).toMatchObject({ status: 201 });
  const setCookie = made.headers.get('set-cookie') ?? '';
  const [cookie = ''] = setCookie.split(';');
  return { cookie, setCookie, sessionId: String(made.fields.session_id) };
}
