import type { FastifyInstance } from 'fastify';
import { BUILT_CONSOLE, type ConsoleFile, ConsoleFiles } from '../console/console-files.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpService } from './service.ts';
import { discardBody } from './wire/body.ts';
import { noteResponse } from './wire/note-response.ts';
import { contextOf } from './wire/record-response.ts';
import { sendError, writeHead } from './wire/reply.ts';

const PATH = '/console';

/** The console may run its own scripts and styles, call this service, and nothing else. */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Mounts the console. Nobody needs a key for its files: they are the same for all, and what they show comes through the
 * API. They are small and in memory, so they cost the address no more than any request.
 */
export function mountConsole(app: FastifyInstance, service: HttpService): void {
  const files = new ConsoleFiles(BUILT_CONSOLE);
  for (const url of [PATH, `${PATH}/*`]) {
    app.route<{ Params: { '*'?: string } }>({
      method: ['GET', 'HEAD'],
      url,
      handler: (request, reply) => {
        const context = contextOf(reply.raw);
        context.pattern = url;
        reply.hijack();
        void serveFile(service, context, files, request.params['*'] ?? '');
      },
    });
  }
}

async function serveFile(
  service: HttpService,
  context: RequestContext,
  files: ConsoleFiles,
  path: string,
): Promise<void> {
  try {
    service.limits.admitAddress(context);
    const file = await files.find(path);
    if (!context.request.complete) await discardBody(context, service.settings);
    if (!context.responded) sendFile(service, context, file);
  } catch (thrown) {
    await sendError(service, context, thrown);
  }
}

function sendFile(service: HttpService, context: RequestContext, file: ConsoleFile): void {
  const { headers } = context.request;
  const own = [
    ...['ETag', file.tag, 'Vary', 'Accept-Encoding'],
    ...['Content-Security-Policy', CONSOLE_POLICY, 'Referrer-Policy', 'no-referrer'],
    ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
  ];
  const isKnown = (headers['if-none-match'] ?? '')
    .split(',')
    .some((tag) => tag.trim().replace(/^W\//, '') === file.tag);
  const status = isKnown ? 304 : 200;
  const isCompressed = acceptsGzip(headers['accept-encoding']);
  const bytes = isCompressed ? file.compressed : file.bytes;
  if (!isKnown) {
    own.push('Content-Type', file.type, 'Content-Length', String(bytes.length));
    if (isCompressed) own.push('Content-Encoding', 'gzip');
  }
  writeHead(service, context, status, own, file.isHashed ? FOR_EVER : 'no-store');
  context.response.end(isKnown ? undefined : bytes);
  noteResponse(service, context, status);
}

/** Whether an Accept-Encoding header names gzip, and not with the weight 0. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '')
    .toLowerCase()
    .split(',');
  return codings.some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/.test(coding));
}
