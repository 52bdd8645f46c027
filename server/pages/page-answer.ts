import type { RequestContext } from '../http/request-context.ts';
import type { HttpService } from '../http/service.ts';
import { discardBody } from '../http/wire/body.ts';
import { contextHeaders } from '../http/wire/error-response.ts';

/** A page or a document, ready to be sent. */
export type PageAnswer = {
  readonly type: 'text/html; charset=utf-8' | 'application/json; charset=utf-8';
  /** Text, or its bytes where it is the same for everybody and long: to make them takes longer than to send them. */
  readonly body: string | Buffer;
  readonly headers: readonly (readonly [name: string, value: string])[];
};

/** Sends a page, or the same as data. */
export async function sendPage(service: HttpService, context: RequestContext, page: PageAnswer): Promise<void> {
  if (!context.request.complete) await discardBody(context, service.settings);
  if (context.answered) return;
  if (service.isClosing) context.mustClose = true;
  const headers: readonly (readonly [string, string])[] = [
    ['Content-Type', page.type],
    ['Content-Length', String(Buffer.byteLength(page.body))],
    ['Request-Id', context.wireId],
    ['Cache-Control', 'no-store'],
    ['X-Content-Type-Options', 'nosniff'],
    ...page.headers,
    ...contextHeaders(context),
  ];
  context.answered = true;
  context.response.writeHead(200, headers.flat());
  context.response.end(page.body);
  tellLog(service, context);
}

function tellLog(service: HttpService, context: RequestContext): void {
  try {
    service.log?.({
      requestId: context.requestId,
      method: context.request.method ?? '',
      path: context.pattern ?? '',
      status: 200,
      code: undefined,
      durationMilliseconds: Date.now() - context.startedAt,
    });
  } catch {
    // A log that fails never fails the answer.
  }
}

/**
 * Whether the caller would rather have a page than data. Only one that names HTML and does not like JSON better gets
 * a page: browsers do that. `*` and `*` alone, which curl and most programs send, is no wish, and data is the answer.
 */
export function prefersPage(accept: string | undefined): boolean {
  const wishes = (accept ?? '').toLowerCase().split(',').map(readWish);
  const weightOf = (...types: readonly string[]) =>
    Math.max(0, ...wishes.filter(({ type }) => types.includes(type)).map(({ weight }) => weight));
  const page = weightOf('text/html', 'application/xhtml+xml', 'text/*');
  return page > 0 && page >= weightOf('application/json', 'application/*');
}

function readWish(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (weight === undefined) return { type, weight: 1 };
  return { type, weight: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 };
}
