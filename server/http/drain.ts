import { Server as NetServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { NoResponseError } from './admission/timeouts.ts';
import type { AddressServer } from './listening.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { writeRecord } from './wire/node-errors.ts';

const POLL_MILLISECONDS = 10;

/** Milliseconds for which requests on open connections are refused before these are ended, at most. */
const KEEP_ALIVE_DRAIN_MILLISECONDS = 500;

/**
 * Closes servers without losing an answer. Callers are told first, by answers that close their connections; then requests
 * are refused, nothing new is accepted, and those in flight finish. What has not after `maxDrainMilliseconds` is answered that
 * nobody waits for it longer.
 */
export async function drain(service: HttpService, servers: readonly AddressServer[]): Promise<void> {
  const { settings, active, connections } = service;
  const start = performance.now();
  const graceMilliseconds = Math.min(settings.drainGraceMilliseconds, settings.maxDrainMilliseconds);
  await untilQuiet(service, graceMilliseconds);
  // Whoever is refused comes back later, so that the doors get quiet.
  service.isRefusing = true;
  const closed = await stopAccepting(service, servers);
  // Whoever has kept a connection, and been slow to use it, is told, too.
  if (connections.all().length > 0) await untilQuiet(service, KEEP_ALIVE_DRAIN_MILLISECONDS);
  while (mustWait(service) && performance.now() - start < settings.maxDrainMilliseconds) await delay(POLL_MILLISECONDS);
  for (const context of active)
    context.abandon?.(new NoResponseError('The service closed before the operation finished.'));
  // A request that has arrived by now is seen by the turn of the loop, and told rather than cut.
  await nextTurn();
  endIdle(service);
  // Answers to what was given up are written now.
  for (let turn = 0; active.size > 0 && turn < 10; turn += 1) await delay(POLL_MILLISECONDS);
  for (const connection of connections.all()) connection.end(settings.lingerMilliseconds);
  await Promise.race([Promise.all(closed), delay(LAST_BYTES_MILLISECONDS, undefined, { ref: false })]);
  for (const connection of connections.all()) connection.socket.destroy();
  // Stops the timers of Node's server; it is closed already.
  for (const server of servers) server.close();
  await Promise.all(closed);
}

/** Ends when no request has come for a moment; a service that is asked all the time ends it after `maxMilliseconds`. */
async function untilQuiet(service: HttpService, maxMilliseconds: number): Promise<void> {
  const start = performance.now();
  let seen = service.requests;
  for (let now = start, lastAt = start; now - start < maxMilliseconds; now = performance.now()) {
    if (service.requests !== seen) lastAt = now;
    else if (now - lastAt >= service.settings.drainQuietMilliseconds) return;
    seen = service.requests;
    await delay(Math.min(POLL_MILLISECONDS, maxMilliseconds));
  }
}

/** Milliseconds for which those at the door are let in, at most; each turn of the event loop lets in one. */
const ACCEPT_DRAIN_MILLISECONDS = 1_500;

/** A turn of the event loop that had nothing to do takes no longer: in it, nobody can have come unseen. */
const EMPTY_TURN_MILLISECONDS = 0.05;

/**
 * Accepts nothing more. Callers whose connection waits to be accepted would be reset, so they come in first: the doors
 * close after a turn of the event loop in which nobody came, and which was too short for anybody to come since.
 */
async function stopAccepting(
  { connections }: HttpService,
  servers: readonly AddressServer[],
): Promise<readonly Promise<unknown>[]> {
  for (const start = performance.now(); performance.now() - start < ACCEPT_DRAIN_MILLISECONDS; ) {
    const { taken } = connections;
    const begun = performance.now();
    await nextTurn();
    if (taken === connections.taken && performance.now() - begun < EMPTY_TURN_MILLISECONDS) break;
  }
  // Node's own close would cut idle connections at once, and with them requests that are on their way.
  return servers.map((server) => new Promise((done) => NetServer.prototype.close.call(server, done)));
}

/** Whether something is in flight that can still get a better answer than that the service is closing. */
function mustWait({ active, connections, settings }: HttpService): boolean {
  // A caller who is slow, with its first request or with what it sends or takes, keeps nobody waiting for longer.
  const isFresh = (since: number): boolean => Date.now() - since < settings.lingerMilliseconds;
  for (const context of active) if (context.abandon !== undefined || isFresh(context.startedAt)) return true;
  return connections.all().some(({ latest, openedAt }) => latest === undefined && isFresh(openedAt));
}

/** Ends what nothing is under way on; the beginning of a request is answered. */
function endIdle(service: HttpService): void {
  const closing = closingRefusal();
  for (const connection of service.connections.all()) {
    if (connection.onFault !== undefined) connection.onFault(closing);
    else if (!connection.busy && connection.hasInput) writeRecord(service, connection, closing);
    else if (!connection.busy) connection.end(service.settings.lingerMilliseconds);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((begin) => setImmediate(begin));
}

/** Time for the last bytes to leave once everything is answered. */
const LAST_BYTES_MILLISECONDS = 200;
