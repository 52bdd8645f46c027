import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { OPERATION_IDS, type OperationId } from '../../contract/operations.ts';
import { KEY_SCOPES, PROGRAM_SCOPES } from '../../contract/scope.ts';
import { Refusal } from '../../domain/refusal.ts';
import { DEMO_PROGRAM_ID as SEEDED_PROGRAM_ID } from '../../domain/sandbox.ts';
import type { Gateway, Handler } from '../../server/calls/call.ts';
import { createHttpServer, type ErrorReport, type HttpOptions, type HttpServer } from '../../server/http/server.ts';
import { openAuthentication } from '../../server/subjects/keys/authenticate.ts';
import { openProgramSearch } from '../../server/subjects/programs/manage-programs.ts';
import { openSessionAuthentication } from '../../server/subjects/sessions/authenticate-session.ts';
import type { Ledger } from './ledger.ts';
import { RawConnection, type RawResponse } from './raw-connection.ts';

/** The UUIDs of the fake gateway's two programs. */
export const DEMO_PROGRAM = '01920000-0000-7000-8000-000000000001';
export const OTHER_PROGRAM = '01920000-0000-7000-8000-000000000002';
export const OTHER_PROGRAM_ID = 'prog_01920000000070008000000000000002';
export const DEMO_PROGRAM_ID = 'prog_01920000000070008000000000000001';

/** Creates a gateway with handlers by operation. Its keys are 'operator', 'program' and 'broken'. */
export function fakeGateway(
  handlers: Partial<Record<OperationId, Handler>> = {},
  more: Partial<Omit<Gateway, 'handlers'>> = {},
): Gateway {
  const echo: Handler = async (call) => ({ json: JSON.stringify({ operation: call.operation }) });
  const all: Record<string, Handler> = Object.fromEntries(OPERATION_IDS.map((id) => [id, handlers[id] ?? echo]));
  const handlerOf = (id: OperationId): Handler => all[id] ?? echo;
  return {
    mode: 'sandbox',
    keyless: true,
    supportContact: 'support@example.com',
    findSupport: () => undefined,
    handlers: Object.fromEntries(OPERATION_IDS.map((id) => [id, handlerOf(id)])) as Gateway['handlers'],
    authenticate: async (key) => {
      if (key === 'operator') return { kind: 'operator_key', keyId: 'k1', scopes: KEY_SCOPES };
      if (key === 'program')
        return { kind: 'program_key', keyId: 'k2', scopes: PROGRAM_SCOPES, programId: DEMO_PROGRAM };
      if (key === 'broken') throw new Error('connect ECONNREFUSED /secret/socket');
      throw new Refusal('unauthenticated', 'The API key is unknown.');
    },
    authenticateSession: async () => {
      throw new Refusal('unauthenticated', 'The session is unknown.');
    },
    onRefusedCredential: () => undefined,
    findProgram: async (id) => {
      if (id === OTHER_PROGRAM_ID) return OTHER_PROGRAM;
      if (id === DEMO_PROGRAM_ID) return DEMO_PROGRAM;
      throw new Refusal('program_not_found', 'There is no such card program.');
    },
    demoProgramId: DEMO_PROGRAM,
    verifyNotice: () => false,
    ready: async () => 'ready',
    ...more,
  };
}

/** Creates the service's gateway to a test ledger: a sandbox without keys, unless `more` overrides that. */
export function ledgerGateway({ databases, handlers, service }: Ledger, more: Partial<Gateway> = {}): Gateway {
  return {
    mode: 'sandbox',
    keyless: true,
    supportContact: 'support@example.com',
    findSupport: () => undefined,
    handlers,
    authenticate: openAuthentication(databases.authentication),
    authenticateSession: openSessionAuthentication(databases.authentication, {
      noteSession: () => undefined,
      noteKey: () => undefined,
    }),
    onRefusedCredential: () => undefined,
    findProgram: openProgramSearch(databases.authentication),
    demoProgramId: SEEDED_PROGRAM_ID,
    verifyNotice: service.processors.verifyNotice,
    ready: async () => 'ready',
    ...more,
  };
}

/** A server on a free loopback port, and the errors that it reported. */
export type HttpTestServer = {
  readonly server: HttpServer;
  readonly port: number;
  readonly reports: ErrorReport[];
  /** Opens a connection that is closed at the end of the test. */
  readonly connect: (bytes?: string | Buffer) => Promise<RawConnection>;
  /** Sends bytes on a new connection and reads the response. */
  readonly ask: (bytes: string | Buffer, method?: string) => Promise<RawResponse>;
};

/** Starts a server. It sheds load only if the options say so, because otherwise tests would fail on a slow machine. */
export async function startHttpServer(gateway = fakeGateway(), options: HttpOptions = {}): Promise<HttpTestServer> {
  const reports: ErrorReport[] = [];
  const server = createHttpServer(gateway, {
    onError: (report) => reports.push(report),
    ...options,
    settings: { overloadDelayMilliseconds: 0, operationTimeoutMilliseconds: 300_000, ...options.settings },
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const port = server.address?.port ?? 0;
  const connect = async (bytes?: string | Buffer): Promise<RawConnection> => {
    const connection = await RawConnection.open(port);
    onTestFinished(() => connection.close());
    if (bytes !== undefined) connection.send(bytes);
    return connection;
  };
  const ask = async (bytes: string | Buffer, method?: string): Promise<RawResponse> => {
    const connection = await RawConnection.open(port);
    connection.send(bytes);
    return connection.next(method).finally(() => connection.close());
  };
  return { server, port, reports, connect, ask };
}

/** Starts a server for a test. At the end of the test, its connections are closed first, and then the server. */
export async function serve(gateway?: Gateway, options?: HttpOptions): Promise<HttpTestServer> {
  const started = await startHttpServer(gateway, options);
  onTestFinished(() => started.server.close());
  return started;
}

/** Returns the server's side of the next connection that a server in this process accepts. */
export function nextTaken(): Promise<Socket> {
  return new Promise((resolve) => {
    const take = (message: unknown): void => {
      unsubscribe('net.server.socket', take);
      resolve((message as { readonly socket: Socket }).socket);
    };
    subscribe('net.server.socket', take);
  });
}
