import { StartupProblem } from '../startup-problem.ts';
import type { SETTINGS } from './settings.ts';
import { quoted } from './values.ts';

/** Where and which traces are sent. */
export type TraceSettings = {
  /** URL of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of requests that is traced, from 0 to 1. */
  readonly ratio: number;
  readonly serviceName: string;
};

type Read = (name: (typeof SETTINGS)[number]['name']) => string;

/** The settings of traces; null where none are sent. All of them are checked in either case. */
export function readTraces(read: Read): TraceSettings | null {
  const endpoint = readEndpoint(read('OTEL_EXPORTER_OTLP_ENDPOINT'));
  const headers = readHeaders(read('OTEL_EXPORTER_OTLP_HEADERS'));
  const ratio = readRatio(read('OTEL_TRACES_SAMPLER_ARG'));
  return endpoint === '' ? null : { endpoint, headers, ratio, serviceName: read('OTEL_SERVICE_NAME') };
}

function readEndpoint(text: string): string {
  if (text === '') return '';
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') return text;
  throw invalid(
    `OTEL_EXPORTER_OTLP_ENDPOINT is ${quoted(text)}, but it must be an http:// or https:// URL without a query, ` +
      'such as http://127.0.0.1:4318.',
  );
}

/** Names and percent-encoded values, as the OpenTelemetry specification has them. The message does not quote them. */
function readHeaders(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*([!-~ \t]*?)\s*$/.exec(pair) ?? [];
      const decoded = decode(value);
      if (name !== undefined && decoded !== undefined) return [name.toLowerCase(), decoded];
      throw invalid(
        'OTEL_EXPORTER_OTLP_HEADERS must be names and percent-encoded values such as authorization=Bearer%20abc, separated by commas.',
      );
    }),
  );
}

function decode(value: string | undefined): string | undefined {
  try {
    const decoded = decodeURIComponent(value ?? '%');
    // What a header cannot have would fail every request.
    return /^[\t -~]*$/.test(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

function readRatio(text: string): number {
  const ratio = /^(?:[0-9]{1,9}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})$/.test(text) ? Number(text) : Number.NaN;
  if (ratio <= 1) return ratio;
  throw invalid(`OTEL_TRACES_SAMPLER_ARG is ${quoted(text)}, but it must be a number from 0 to 1, such as 0.01.`);
}

function invalid(message: string): StartupProblem {
  return new StartupProblem('invalid-setting', message);
}
