import { BUILT_CONSOLE, ConsoleFiles } from '../pages/console/console-files.ts';
import type { RequestContext } from './request-context.ts';
import type { Router } from './router.ts';
import type { HttpService } from './service.ts';
import { sendError } from './wire/reply.ts';
import { sendRepresentation } from './wire/representation.ts';

const PATH = '/console';

/** The Content-Security-Policy of the console: its own scripts and styles, calls to this service, and nothing else. */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS = [
  ...['Content-Security-Policy', CONSOLE_POLICY, 'Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
];

const FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Mounts the console. Its files need no key: they are the same for everybody, and the data that they show comes from
 * the API. They are small and served from memory, so each counts as one request of its address.
 */
export function mountConsole(router: Router, service: HttpService): void {
  const files = new ConsoleFiles(BUILT_CONSOLE);
  for (const pattern of [PATH, `${PATH}/*`]) {
    router.add(['GET', 'HEAD'], {
      pattern,
      serve: (context, parameters) => void serveFile(service, context, files, parameters['*'] ?? ''),
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
    const cacheControl = file.isHashed ? FOR_EVER : 'no-store';
    await sendRepresentation(service, context, file, { headers: HEADERS, cacheControl });
  } catch (thrown) {
    await sendError(service, context, thrown);
  }
}
