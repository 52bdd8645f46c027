import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { mountConsole } from './console-route.ts';
import { mountPages } from './page-route.ts';
import { serveOperation } from './pipeline.ts';
import type { Router } from './router.ts';
import type { HttpService } from './service.ts';

/** Adds all routes of the service. */
export function mountRoutes(router: Router, service: HttpService): void {
  mountOperations(router, service);
  mountPages(router, service);
  mountConsole(router, service);
}

/** One route per operation of the contract; sandbox operations only in sandbox mode. */
function mountOperations(router: Router, service: HttpService): void {
  for (const id of OPERATION_IDS) {
    const { method, path, reach } = OPERATIONS[id];
    if (reach === 'sandbox' && service.gateway.mode !== 'sandbox') continue;
    router.add(method === 'GET' ? ['GET', 'HEAD'] : [method], {
      pattern: path,
      operation: id,
      serve: (context, parameters) => void serveOperation(service, context, id, parameters),
    });
  }
}
