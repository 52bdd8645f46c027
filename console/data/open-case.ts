import type { CaseRecord, CreateCaseBody, KeyedCallOptions, TransferService } from '../../sdk/client.ts';

/** Opens a case, or gives the open one that its request has already: what was typed is then added to that as a message. */
export async function openCase(
  api: TransferService,
  body: CreateCaseBody,
  options: KeyedCallOptions,
): Promise<CaseRecord> {
  const found = await api.cases.create(body, options);
  if (found.response.status === 201 || body.text === undefined) return found;
  const idempotencyKey = `${options.idempotencyKey}-reply`;
  return await api.cases.reply(found.case_id, { text: body.text }, { ...options, idempotencyKey });
}
