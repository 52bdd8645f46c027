import { MIN_MAX_BODY_BYTES } from '../../../contract/reading/request-size.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { OperationRequest } from '../operation-request.ts';
import { type BodyLabel, type ReceivedBody, readBodyLabel, receiveBody, refuseForm } from '../wire/body.ts';

/** Receives the body. Refuses a form, and a body that is too large. */
export function takeBody(request: OperationRequest): Promise<void> | undefined {
  const { context, operation, head } = request;
  if (operation.body === undefined) return undefined;
  const label = readBodyLabel(head, operation.method);
  // Node emits the request before it has read the body, which usually arrived with the head.
  if (!context.request.complete) return Promise.resolve().then(() => receive(request, label));
  return receive(request, label);
}

function receive(request: OperationRequest, label: BodyLabel): Promise<void> | undefined {
  const { service, context, operation } = request;
  const maxBodyBytes = operation.maxBodyBytes ?? MIN_MAX_BODY_BYTES;
  const check = ({ bytes, received, overflow }: ReceivedBody): void => {
    service.limits.chargeBody(context, received);
    refuseForm(label, bytes);
    if (overflow) {
      const advice = operation.id === 'create_transfer_batch' ? ' Send its rows in several batches.' : '';
      throw new Refusal('payload_too_large', `The body has more than ${maxBodyBytes} bytes.${advice}`);
    }
    request.body = bytes;
  };
  const body = receiveBody(context, maxBodyBytes, service.settings.maxDiscardedBytes);
  if (body instanceof Promise) return body.then(check);
  check(body);
  return undefined;
}
