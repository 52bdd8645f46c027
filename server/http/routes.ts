import fastify, { type FastifyInstance } from 'fastify';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { Refusal } from '../../domain/refusal.ts';
import { mountConsole } from './console-route.ts';
import { serveOperation } from './operation-route.ts';
import { mountPages } from './page-route.ts';
import type { RequestContext } from './request-context.ts';
import { routePattern } from './route-table.ts';
import type { HttpService } from './service.ts';
import { noRouteMessage } from './stray-requests.ts';
import { contextOf } from './wire/record-response.ts';
import { sendError } from './wire/reply.ts';

/** No route has a schema for Fastify, so its compilers are not even loaded. */
const NO_SCHEMAS = (): never => {
  throw new Error('Routes have no schemas of Fastify: operations check what they are sent.');
};

/** The longest path parameter; no id is longer. */
const MAX_PARAMETER_LENGTH = 255;

/**
 * Creates the router with all routes; server.ts asks it for what the table of routes does not have. Fastify only finds the route: credentials are checked before the body is read, so it
 * never sees the body, and every response, also to errors of Fastify, is written by the code in this folder.
 */
export function createRoutes(
  service: HttpService,
  extend: ((app: FastifyInstance) => void) | undefined,
): FastifyInstance {
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    genReqId: () => '',
    schemaController: { compilersFactory: { buildValidator: NO_SCHEMAS, buildSerializer: NO_SCHEMAS } },
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: MAX_PARAMETER_LENGTH,
      // The operation reads its query, so that the error names the parameter.
      querystringParser: () => ({}),
    },
    frameworkErrors: (error, _request, reply) => {
      void sendError(service, contextOf(reply.raw), routerFault(error.code) ?? error);
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
  app.addHook('onRoute', ({ method, url }) => service.routes.add([method].flat(), url));
  app.setErrorHandler((error, request, reply) => {
    const context = contextOf(reply.raw);
    reply.hijack();
    void sendError(service, context, request.is404 ? noRoute(service, context) : error);
  });
  app.setNotFoundHandler((_request, reply) => {
    const context = contextOf(reply.raw);
    reply.hijack();
    void sendError(service, context, noRoute(service, context));
  });
  mountOperations(app, service);
  mountPages(app, service);
  mountConsole(app, service);
  extend?.(app);
  return app;
}

/** Mounts one route per operation of the contract; sandbox operations only in sandbox mode. */
function mountOperations(app: FastifyInstance, service: HttpService): void {
  for (const id of OPERATION_IDS) {
    const { method, path, reach } = OPERATIONS[id];
    if (reach === 'sandbox' && service.gateway.mode !== 'sandbox') continue;
    service.routes.addPlain(id);
    app.route<{ Params: Record<string, string> }>({
      method: method === 'GET' ? ['GET', 'HEAD'] : [method],
      url: routePattern(path),
      handler: (request, reply) => {
        const context = contextOf(reply.raw);
        context.pattern = path;
        reply.hijack();
        const hasEmpty = Object.values(request.params).includes('');
        if (hasEmpty) void sendError(service, context, noRoute(service, context));
        else void serveOperation(service, context, id, request.params);
      },
    });
  }
}

function routerFault(code: string): Refusal | undefined {
  if (code === 'FST_ERR_BAD_URL') {
    return new Refusal('malformed_request', "The path contains a '%' that is not part of a valid UTF-8 escape.");
  }
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') {
    const message = `A segment of the path is longer than ${MAX_PARAMETER_LENGTH} characters.`;
    return new Refusal('uri_too_long', message);
  }
  return undefined;
}

/** The refusal of a request without a route: wrong method or wrong path. */
function noRoute(service: HttpService, context: RequestContext): Refusal {
  const isServerWide = context.path === '*';
  const methods = isServerWide ? service.routes.allMethods() : service.routes.methodsOf(context.path);
  if (methods.length === 0) {
    return new Refusal('route_not_found', noRouteMessage(context.path));
  }
  context.allow = methods.join(', ');
  return new Refusal('method_not_allowed', `This path supports only ${context.allow}.`);
}
