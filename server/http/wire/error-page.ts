import { Refusal } from '../../../domain/refusal.ts';
import { maskPath } from '../../foundation/redaction.ts';
import { notFoundPage } from '../../pages/not-found-page.ts';
import { documentOf, PAGE_HEADERS } from '../../pages/page-layout.ts';
import { prefersPage } from '../../pages/page-response.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { isStray } from '../stray-requests.ts';
import type { ErrorResponse, HeaderList } from './error-response.ts';

/** The HTML page that is sent to browsers instead of an error record. */
export type ErrorPage = { readonly type: string; readonly body: string; readonly headers: HeaderList };

/** Maximum characters of a path that the page shows. */
const MAX_PATH_LENGTH = 200;

/** Paths of data files, for which browsers get the record as well. */
const DATA = /\.(?:json|md)$/;

/** Whether the Accept header decides between the record and a page: for a stray GET or HEAD of an unknown path. */
export function mayHaveErrorPage(context: RequestContext, thrown: unknown): boolean {
  const { method } = context.request;
  const isRead = method === 'GET' || method === 'HEAD';
  const isUnknown = thrown instanceof Refusal && thrown.code === 'route_not_found';
  return isUnknown && isRead && isStray(context, 'route_not_found') && !DATA.test(context.path);
}

/** Whether the request gets the page: it prefers HTML, and its address is within its rate limit. */
export function wantsErrorPage({ request, addressLimitRefusal }: RequestContext): boolean {
  return addressLimitRefusal === undefined && prefersPage(request.headers.accept);
}

/** The HTML page. */
export function errorPage(
  { version, supportContact, gateway }: HttpService,
  { path }: RequestContext,
  { record }: ErrorResponse,
): ErrorPage {
  const page = notFoundPage(maskPath(path).slice(0, MAX_PATH_LENGTH), record.Message);
  const body = documentOf(page, { version, mode: gateway.mode, supportContact });
  return { type: 'text/html; charset=utf-8', body, headers: PAGE_HEADERS };
}
