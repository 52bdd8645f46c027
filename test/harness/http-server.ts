import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { OPERATION_IDS, type OperationId } from '../../contract/operations.ts';
import { Refusal } from '../../domain/refusal.ts';
import { KEY_SCOPES, PROGRAM_SCOPES } from '../../domain/scope.ts';
import { createHttpServer, type ErrorReport, type HttpOptions, type HttpServer } from '../../server/http/server.ts';
import type { Gateway, Handler } from '../../server/operations/call.ts';

/** Inner UUIDs of the programs that the gateway of the tests knows. */
export const DEMO_PROGRAM = '01920000-0000-7000-8000-000000000001';
export const OTHER_PROGRAM = '01920000-0000-7000-8000-000000000002';
export const OTHER_PROGRAM_ID = 'prog_01920000000070008000000000000002';
export const DEMO_PROGRAM_ID = 'prog_01920000000070008000000000000001';

/** What the rest of the house is to http: handlers by operation, keys by name. */
export function fakeGateway(
  handlers: Partial<Record<OperationId, Handler>> = {},
  more: Partial<Omit<Gateway, 'handlers'>> = {},
): Gateway {
  const echo: Handler = async (call) => ({ status: 200, body: JSON.stringify({ operation: call.operation }) });
  const all: Record<string, Handler> = Object.fromEntries(OPERATION_IDS.map((id) => [id, handlers[id] ?? echo]));
  const handlerOf = (id: OperationId): Handler => all[id] ?? echo;
  return {
    mode: 'sandbox',
    keyless: true,
    supportContact: 'support@example.com',
    handlers: Object.fromEntries(OPERATION_IDS.map((id) => [id, handlerOf(id)])) as Gateway['handlers'],
    authenticate: async (key) => {
      if (key === 'operator') return { kind: 'operator_key', keyId: 'k1', scopes: KEY_SCOPES };
      if (key === 'program')
        return { kind: 'program_key', keyId: 'k2', scopes: PROGRAM_SCOPES, programId: DEMO_PROGRAM };
      if (key === 'broken') throw new Error('connect ECONNREFUSED /secret/socket');
      throw new Refusal('unauthenticated', 'The API key is unknown.');
    },
    onRefusedCredential: () => undefined,
    findProgram: async (id) => {
      if (id === OTHER_PROGRAM_ID) return OTHER_PROGRAM;
      if (id === DEMO_PROGRAM_ID) return DEMO_PROGRAM;
      throw new Refusal('program_not_found', 'There is no such card program.');
    },
    demoProgramId: DEMO_PROGRAM,
    ready: async () => 'ready',
    ...more,
  };
}

/** A server that listens, and the errors it reported. */
export type TestServer = {
  readonly server: HttpServer;
  readonly port: number;
  readonly reports: ErrorReport[];
};

/** Starts a server on a free port of the loopback; it sheds nothing, so that a slow machine fails no test. */
export async function startServer(gateway: Gateway, options: HttpOptions = {}): Promise<TestServer> {
  const reports: ErrorReport[] = [];
  const server = createHttpServer(gateway, {
    onError: (report) => reports.push(report),
    ...options,
    settings: { maxLagMilliseconds: 0, operationTimeoutMilliseconds: 300_000, ...options.settings },
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { server, port: server.address?.port ?? 0, reports };
}

/** The server's side of the next connection that a server of this process accepts. */
export function nextTaken(): Promise<Socket> {
  return new Promise((resolve) => {
    const take = (message: unknown): void => {
      unsubscribe('net.server.socket', take);
      resolve((message as { readonly socket: Socket }).socket);
    };
    subscribe('net.server.socket', take);
  });
}
