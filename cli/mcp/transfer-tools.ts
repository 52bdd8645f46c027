import { CreateTransferBody } from '../../contract/transfers.ts';
import type { CreateTransferBody as TransferBody } from '../../sdk/client.ts';
import { money } from '../output.ts';
import { answer } from './answer.ts';
import { refuseLive } from './plain-request.ts';
import { type Call, type InputSchema, PROGRAM_ID, plainSchema, requestOptions, type Tool, textIn } from './tool.ts';

const IDEMPOTENCY_KEY = {
  type: 'string',
  description:
    'Your own id for this transfer, 1 to 255 visible ASCII characters. Calls with the same key create one transfer, even after ' +
    'a timeout. Generated if omitted; the result contains it',
} as const;

/** The fields of create_transfer. The service checks which of them fit together, and its messages say what is wrong. */
function transferSchema(others: InputSchema['properties']): InputSchema {
  const fields = plainSchema(CreateTransferBody.properties) as InputSchema['properties'];
  return {
    type: 'object',
    properties: { ...fields, ...others, ...PROGRAM_ID },
    required: [...CreateTransferBody.required],
    additionalProperties: false,
  };
}

/** The body of the request: every argument except those that are sent in headers. The service checks it. */
function bodyIn({ given }: Call): TransferBody {
  const { program_id, idempotency_key, ...body } = given;
  return body as unknown as TransferBody;
}

const dryRunTransfer: Tool = {
  name: 'dry_run_transfer',
  title: 'Dry-run a transfer',
  description:
    'Says whether a transfer would succeed now, and which checks it would pass or fail, with the values that each check used ' +
    '(balance, limits, status of the card). It moves no money and creates nothing. Use it for "why is this declined?" and ' +
    '"would this work?". `first_failure` is the error code that create_transfer would return. Amounts are in minor units: ' +
    '1000 is 10.00 USD. `load` moves money to the card, `unload` takes it back.',
  inputSchema: transferSchema({}),
  writes: false,
  isDestructive: false,
  run: async ({ service }, call) => {
    const explanation = await service.transfers.explain(bodyIn(call), requestOptions(call));
    const { would_succeed, first_failure, result, checks } = explanation;
    const failed = checks.find(({ code }) => code !== null && code === first_failure);
    const verdict = would_succeed
      ? `The transfer would succeed. ${result?.sentence ?? ''}`.trim()
      : `The transfer would fail with ${first_failure}. ${failed?.message ?? ''}`.trim();
    return answer(`${verdict} This was a dry run: no money moved.`, {
      would_succeed,
      first_failure,
      result,
      checks: checks.filter(({ outcome }) => outcome !== 'not_evaluated'),
      not_evaluated: checks.flatMap(({ name, outcome }) => (outcome === 'not_evaluated' ? [name] : [])),
    });
  },
};

const createTransfer: Tool = {
  name: 'create_transfer',
  title: 'Create a transfer in the sandbox',
  description:
    'Creates a transfer in the sandbox, which holds only test money: loads a card, unloads it, or moves money between cards. A ' +
    'live service is refused. Amounts are in minor units: 1000 is 10.00 USD. The sandbox has cards such as card_active, ' +
    'card_empty, card_lost and card_limited. If a call fails and `money_moved` is unknown, or there was no result, call it ' +
    'again with the same arguments and the same idempotency_key. `replayed` is true if an earlier call created the transfer.',
  inputSchema: transferSchema({ idempotency_key: IDEMPOTENCY_KEY }),
  writes: true,
  isDestructive: true,
  run: async (called, call) => {
    const idempotencyKey = call.given.idempotency_key === undefined ? undefined : textIn(call.given, 'idempotency_key');
    await refuseLive(called, call.signal);
    const transfer = await called.service.transfers.create(bodyIn(call), { ...requestOptions(call), idempotencyKey });
    const { replayed, moneyMoved, requestId, idempotencyKey: sent } = transfer.response;
    const amount = money(transfer.amount, transfer.currency);
    const what = replayed ? 'An earlier call with this idempotency key created' : 'Created';
    return answer(
      `${what} the ${transfer.type} ${transfer.transfer_id} of ${amount}. Its status is ${transfer.status}.`,
      {
        transfer: { ...transfer },
        money_moved: moneyMoved,
        replayed,
        idempotency_key: sent ?? null,
        request_id: requestId ?? null,
      },
    );
  },
};

export const TRANSFER_TOOLS: readonly Tool[] = [dryRunTransfer, createTransfer];
