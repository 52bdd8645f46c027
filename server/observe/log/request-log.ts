import { toCredentialId, toWireId } from '../../../domain/identifier.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import type { ResponseEntry } from '../../http/reports.ts';
import type { LineWriter } from './line-writer.ts';
import type { LogEvent } from './log-events.ts';

/** Pino's number for the level `info`. */
const INFO = 30;

const EVENT: LogEvent = 'request';

const START = `{"level":${INFO},"time":"`;

/** Paths as JSON. Paths are the patterns of the routes, so there are only a few. */
const QUOTED = new Map<string, string>();

/**
 * Opens the listener that writes the lines of requests. Returns undefined if these lines are off. They need no redaction, because
 * every value is an id, a number, or from a closed set.
 */
export function openRequestLog(
  which: Configuration['requestLog'],
  lines: Pick<LineWriter, 'add'>,
): Listener | undefined {
  if (which === 'off') return undefined;
  const isAll = which === 'all';
  return (entry) => {
    const { status, code } = entry;
    if (isAll || code !== undefined || status === undefined || status >= 400) lines.add(lineOf(entry));
  };
}

type Listener = (entry: ResponseEntry) => void;

export function onEachOf(...listeners: readonly (Listener | undefined)[]): Listener | undefined {
  return listeners.reduce((before, next) => {
    if (before === undefined || next === undefined) return before ?? next;
    return (entry) => {
      before(entry);
      next(entry);
    };
  }, undefined);
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

let lastTime = 0;
let lastTimeText = '';

/** Returns the time as text. It is formatted once for all requests in the same millisecond. */
function timeText(): string {
  const now = Date.now();
  if (now !== lastTime) {
    lastTime = now;
    lastTimeText = new Date(now).toISOString();
  }
  return lastTimeText;
}

function lineOf(entry: ResponseEntry): string {
  const { operation, method, path, code, status, programId, keyId, moneyMoved, traceparent } = entry;
  let line = `${START}${timeText()}","event":"${EVENT}","requestId":"${toWireId('req', entry.requestId)}"`;
  if (operation !== undefined) line += `,"operation":"${operation}"`;
  if (method !== undefined) line += `,"method":"${method}"`;
  if (path !== undefined) line += `,"path":${quoted(path)}`;
  if (code !== undefined) line += `,"code":"${code}"`;
  if (status !== undefined) line += `,"status":${status}`;
  line += `,"milliseconds":${Math.round(entry.milliseconds * 1000) / 1000}`;
  if (programId !== undefined) line += `,"program":"${toWireId('prog', programId)}"`;
  if (keyId !== undefined) line += `,"key":"${toCredentialId(keyId)}"`;
  if (moneyMoved !== undefined) line += `,"moneyMoved":"${moneyMoved}"`;
  if (traceparent !== undefined) line += `,"traceId":"${traceIdOf(traceparent)}"`;
  return `${line}}\n`;
}

function quoted(path: string): string {
  let text = QUOTED.get(path);
  if (text === undefined) {
    text = JSON.stringify(path);
    QUOTED.set(path, text);
  }
  return text;
}
