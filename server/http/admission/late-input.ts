import type { Duplex } from 'node:stream';
import type { HttpService } from '../service.ts';
import { respondToParserError } from '../wire/node-errors.ts';

/*
 * Time limits of connections, for a process that was stopped or starved for longer than they are. Timers run before
 * sockets are read, so a request that has long arrived looks as if it had never come. Whatever has arrived is read before
 * a connection is closed.
 */

/** Turns of the event loop in which whatever has arrived is read; one does for up to a thousand connections. */
const MAX_TURNS = 3;

/** Closes a connection that was kept for a next request, unless one has arrived. */
export async function closeIdleConnection(service: HttpService, socket: Duplex): Promise<void> {
  const connection = service.connections.of(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  // Node restarts the time limit whenever bytes arrive.
  if (await hasRead(connection)) return;
  if (!connection.busy) connection.end(service.settings.lingerMilliseconds);
}

/**
 * Refuses a request that has not arrived whole in time. Where some of it had arrived and was only not read, it gets the
 * time for a head once more, and no longer, so that a caller who sends a byte now and then gains nothing.
 */
export async function timeOutRequest(service: HttpService, error: Error, socket: Duplex): Promise<void> {
  const connection = service.connections.of(socket);
  const latest = connection?.latest;
  const wasInBody = latest !== undefined && !latest.request.complete;
  if (connection !== undefined && (await hasRead(connection))) {
    const hasArrived = (): boolean =>
      wasInBody ? latest.request.complete || latest.response.writableEnded : connection.latest !== latest;
    if (hasArrived()) return;
    const timer = setTimeout(() => {
      if (!hasArrived()) respondToParserError(service, error, socket);
    }, service.settings.headTimeoutMilliseconds);
    socket.once('close', () => clearTimeout(timer));
    return;
  }
  respondToParserError(service, error, socket);
}

/** Whether bytes had arrived on a connection that were not read yet; they are read now. */
async function hasRead({ socket }: { readonly socket: { readonly bytesRead: number } }): Promise<boolean> {
  const { bytesRead } = socket;
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    await new Promise((next) => setImmediate(next));
    if (socket.bytesRead > bytesRead) return true;
  }
  return false;
}
