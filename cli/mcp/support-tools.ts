import { setTimeout as pause } from 'node:timers/promises';
import { catalogueRecord, isErrorCode } from '../../contract/errors/catalogue.ts';
import { searchErrors } from '../../contract/search/error-search.ts';
import { TransferServiceError } from '../../sdk/client.ts';
import { answer } from './answer.ts';
import { PROGRAM_ID, RefusedCall, requestOptions, type Tool, textIn } from './tool.ts';

/** An error is stored within a second. Agents often ask about a request as soon as it has failed. */
const UNTIL_STORED_MILLISECONDS = 1_500;

const READS = { writes: false, isDestructive: false } as const;

/** The refusal of a text that is no error code, with the codes that the search finds for it. */
export function unknownCode(text: string): RefusedCall {
  const similar = searchErrors(text).map(({ code }) => code);
  return new RefusedCall('There is no such error code.', { did_you_mean: similar.slice(0, 3) });
}

const CODE = { type: 'string', description: 'The error code, such as insufficient_funds' } as const;

const lookUpErrorCode: Tool = {
  ...READS,
  name: 'look_up_error_code',
  title: 'Look up an error code',
  description:
    'Explains an error code: its meaning, its causes, what to do, who can resolve it, whether money can have moved, and whether ' +
    'the same request can succeed if it is sent again unchanged. Works without a connection to the service. If you have a ' +
    'request id (req_...), use explain_request instead: it knows what happened in that case. If you have a message or a status ' +
    'and no code, use search_docs.',
  inputSchema: { type: 'object', properties: { code: CODE }, required: ['code'], additionalProperties: false },
  run: async (_, { given }) => {
    const code = textIn(given, 'code').toLowerCase();
    if (!isErrorCode(code)) throw unknownCode(code);
    const record = catalogueRecord(code);
    return answer(`${record.code}: ${record.meaning}`, record);
  },
};

const explainRequest: Tool = {
  ...READS,
  name: 'explain_request',
  title: 'Explain a request',
  description:
    'Explains what one request did, by its request id (req_ and 32 hex digits, from the Request-Id header or an error message): ' +
    'whether it succeeded, whether money moved, the error with its checks and causes, and the transfers, reversals and events ' +
    'that it caused. Requests that only read are not recorded unless they failed. An operator key also sees internal causes ' +
    'and audit entries, and the look-up itself is written to the audit log.',
  inputSchema: {
    type: 'object',
    properties: { request_id: { type: 'string', description: 'The request id, req_...' }, ...PROGRAM_ID },
    required: ['request_id'],
    additionalProperties: false,
  },
  run: async ({ service }, call) => {
    const requestId = textIn(call.given, 'request_id');
    const options = requestOptions(call);
    const { scopes } = await service.sessions.current({ signal: call.signal });
    const isOperator = scopes.includes('operator:read') || scopes.includes('operator');
    const lookUp = () =>
      isOperator
        ? service.requests.inspect(requestId, { signal: call.signal })
        : service.requests.get(requestId, options);
    const request = await lookUp().catch(async (error: unknown) => {
      if (!(error instanceof TransferServiceError) || error.Code !== 'request_not_found') throw error;
      await pause(UNTIL_STORED_MILLISECONDS, undefined, { signal: call.signal });
      return lookUp();
    });
    return answer(request.summary, { request });
  },
};

const getTransferStory: Tool = {
  ...READS,
  name: 'get_transfer_story',
  title: "Get a transfer's story",
  description:
    'Tells everything that happened to one transfer (tr_ and 32 hex digits), in order: the request, holds, postings with ' +
    "balances, the processor's answers, reversals, events, webhook attempts and errors. `summary` says in one sentence where the " +
    'money is. `likely_duplicates` are similar transfers within ten minutes. `truncated` names steps that are missing here: a ' +
    'key without the scopes cards:read, events:read, webhooks:read or errors:read sees fewer steps. Use it for "did the money ' +
    'move?" and "why is it still pending?".',
  inputSchema: {
    type: 'object',
    properties: { transfer_id: { type: 'string', description: 'The transfer, tr_...' }, ...PROGRAM_ID },
    required: ['transfer_id'],
    additionalProperties: false,
  },
  run: async ({ service }, call) => {
    const story = await service.transfers.timeline(textIn(call.given, 'transfer_id'), requestOptions(call));
    return answer(story.money.sentence, story);
  },
};

export const SUPPORT_TOOLS: readonly Tool[] = [lookUpErrorCode, explainRequest, getTransferStory];
