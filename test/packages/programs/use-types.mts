// A user's program that is compiled but not run. Each line uses a type of the SDK.
import {
  ConnectionFailure,
  ERRORS,
  type ErrorCode,
  type Fetch,
  isErrorCode,
  isFailedCall,
  type Page,
  RequestError,
  type TransferRecord,
  TransferService,
  TransferServiceError,
  type TransferServiceEvent,
  type TransferServiceOptions,
  verifyWebhook,
} from '@transfer-service/sdk';

const log: Fetch = async (url, init) => {
  init.headers.set('X-Trace', '1');
  return fetch(url, init);
};
const options: TransferServiceOptions = { key: undefined, timeoutMilliseconds: 1000, maxRetries: 0, fetch: log };
const service = new TransferService(options);

export async function load(): Promise<TransferRecord | ErrorCode | undefined> {
  try {
    const transfer = await service.transfers.create(
      { amount: 1000n, card_id: 'card_active' },
      { idempotencyKey: 'order-1', signal: AbortSignal.timeout(1000), timeoutMilliseconds: 5, maxRetries: 1 },
    );
    const requestId: string | undefined = transfer.response.requestId;
    const status: 'scheduled' | 'pending' | 'completed' | 'failed' | 'canceled' | 'expired' = transfer.status;
    console.log(requestId, status);
    return transfer;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'insufficient_funds') return undefined;
    if (error instanceof TransferServiceError && isErrorCode(error.code))
      return ERRORS[error.code].retry ? error.code : undefined;
    if (error instanceof ConnectionFailure) console.log(error.moneyMoved satisfies 'no' | 'yes' | 'unknown');
    if (isFailedCall(error) && error.moneyMoved === 'unknown')
      console.log(error.idempotencyKey?.length, error.attempts);
    throw error;
  }
}

export async function read(): Promise<number> {
  const page: Page<TransferRecord> = await service.transfers.list({ status: 'completed', limit: 10 });
  let sum = page.data.length;
  for await (const { amount } of service.transfers.listAll()) sum += amount;
  for await (const chunk of await service.transfers.export()) sum += chunk.length;
  for await (const event of service.events.stream({ after: 0, types: ['transfer.*'] })) {
    if (event.type === 'transfer.completed') sum += event.data.amount;
  }
  return sum;
}

export function receive(body: Uint8Array, headers: Headers): Promise<TransferServiceEvent> {
  return verifyWebhook(body, headers, ['whsec_1', 'whsec_2'], { toleranceSeconds: 60 });
}
