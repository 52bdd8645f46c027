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

/** The path at which sessions are created, read and ended. */
export const SESSION = '/api/v0.1/console/session';

/** A response exactly as it arrived at the socket. */
export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Header lines. A name can appear twice. */
export type Lines = readonly string[];

/** A service in this process, which tests reach over sockets so that no client adds a header. */
export type SessionService = {
  readonly port: number;
  /** Sends one request with exactly these lines after the request line, and a JSON body if one is given. */
  readonly ask: (method: string, path: string, lines: Lines, body?: object) => Promise<Answer>;
  /** Refused credentials that the audit log would record. */
  readonly refused: RefusedCredential[];
  readonly uses: SessionUseNotes;
  readonly stop: () => Promise<void>;
};

/** Starts a service on a ledger, behind this many trusted proxies. */
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
  const ask = (method: string, path: string, lines: Lines, body?: object): Promise<Answer> => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const own = ['Content-Type: application/json', 'Connection: close', `Content-Length: ${Buffer.byteLength(text)}`];
    return sendLines(port, [`${method} ${path} HTTP/1.1`, ...lines, ...own], text);
  };
  const stop = (): Promise<void> => server.close();
  afterAll(stop);
  return { port, ask, refused, uses, stop };
}

/** Writes a request head to a socket, and reads until it closes. */
function sendLines(port: number, lines: Lines, sentBody: string): Promise<Answer> {
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
    socket.write(`${lines.join('\r\n')}\r\n\r\n${sentBody}`);
  });
}

/** Creates a key, by default with every scope. */
export async function makeKey(ledger: Ledger, members: object = { all_programs: true, scopes: [...KEY_SCOPES] }) {
  const { body } = await ledger.call('create_key', { name: 'Ada', ...members });
  return JSON.parse(body) as { readonly key: string; readonly key_id: string };
}

/** Returns the headers that a page of the service sends, without the cookie. */
export const ownPage = (port: number): Lines => [
  `Host: localhost:${port}`,
  'Sec-Fetch-Site: same-origin',
  'Console: 1',
];

/** Signs in with a key as a page of the service does. Returns the cookie as `name=value`, and the session's id. */
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
