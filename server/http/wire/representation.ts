import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { discardBody } from './body.ts';
import { noteResponse } from './note-response.ts';
import { writeHead } from './reply.ts';

/** What is sent to everyone who asks: as it is, and compressed with gzip. */
export type Representation = {
  /** The Content-Type. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly compressed: Buffer;
  /** The entity tag of the bytes, in quotation marks; that of the compressed ones is made from it. */
  readonly tag: string;
};

/** How it is sent. */
type Sending = {
  readonly headers: readonly string[];
  readonly cacheControl: string;
  /** The headers of the request, besides Accept-Encoding, that decide what is sent. */
  readonly vary?: readonly string[];
};

/**
 * Sends what a GET or HEAD asks for, compressed if the request accepts that, or 304 if the request names its tag. The two
 * forms have a tag each, as HTTP requires of tags that are not weak (RFC 9110, 8.8.1); a request may name either.
 */
export async function sendRepresentation(
  service: HttpService,
  context: RequestContext,
  { type, bytes, compressed, tag }: Representation,
  { headers, cacheControl, vary = [] }: Sending,
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

/** Whether an Accept-Encoding header names gzip, and not with the weight 0. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '')
    .toLowerCase()
    .split(',');
  return codings.some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/.test(coding));
}
