import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { discardBody } from './body.ts';
import { noteResponse } from './note-response.ts';
import { writeHead } from './reply.ts';

/** A page or file that is the same for all callers, plain and compressed with gzip. */
export type Representation = {
  readonly type: string;
  readonly bytes: Buffer;
  readonly compressed: Buffer;
  /** The entity tag of the plain bytes, in quotation marks. The tag of the compressed bytes is made from it. */
  readonly tag: string;
};

type RepresentationHeaders = {
  readonly headers: readonly string[];
  readonly cacheControl: string;
  /** The request headers, in addition to Accept-Encoding, that the content depends on. */
  readonly vary?: readonly string[];
};

/**
 * Responds to GET or HEAD. The response is compressed if the request accepts gzip, and a 304 if the request has the entity
 * tag. Plain and compressed bytes have different tags, as HTTP requires of strong tags (RFC 9110, 8.8.1). Either tag
 * matches.
 */
export async function sendRepresentation(
  service: HttpService,
  context: RequestContext,
  { type, bytes, compressed, tag }: Representation,
  { headers, cacheControl, vary = [] }: RepresentationHeaders,
): Promise<void> {
  if (!context.request.complete) await discardBody(context, service.settings);
  if (context.responded) return;
  const asked = context.request.headers;
  const isCompressed = acceptsGzip(asked['accept-encoding']);
  const compressedTag = `${tag.slice(0, -1)}-gzip"`;
  const known = (asked['if-none-match'] ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
  const isKnown = [tag, compressedTag, '*'].some((own) => known.includes(own));
  const own = ['ETag', isCompressed ? compressedTag : tag, 'Vary', [...vary, 'Accept-Encoding'].join(', '), ...headers];
  const sent = isCompressed ? compressed : bytes;
  if (!isKnown) {
    own.push('Content-Type', type, 'Content-Length', String(sent.length));
    if (isCompressed) own.push('Content-Encoding', 'gzip');
  }
  const status = isKnown ? 304 : 200;
  writeHead(service, context, status, own, cacheControl);
  context.response.end(isKnown ? undefined : sent);
  noteResponse(service, context, status);
}

/** Whether an Accept-Encoding header names gzip with a weight other than 0. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '')
    .toLowerCase()
    .split(',');
  return codings.some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/.test(coding));
}
