import { InvalidArgumentError } from 'commander';
import { isTypeOrGroup } from '../../../domain/event.ts';
import type { TransferService, WebhookRecord } from '../../../sdk/client.ts';
import { type OptionsFor, readWholeNumber } from '../../command.ts';
import type { Session } from '../../session.ts';

export const WEBHOOK_ID = 'webhook id, wh_...';

/** Whether a command acts as an operator, on the webhooks of any card program. */
export type Reach = { readonly operator?: boolean };

export const REACH_OPTION: OptionsFor<Reach> = {
  operator: { flag: '--operator', help: 'as an operator: webhooks of any card program' },
};

/** Returns the operations on the card program's webhooks, or the operators' operations on any webhook. */
export function webhooksOf(
  { service }: Session,
  operator: boolean | undefined,
): TransferService['webhooks'] | TransferService['operatorWebhooks'] {
  return operator === true ? service.operatorWebhooks : service.webhooks;
}

/** Writes commands about a webhook, for a person to copy. */
export function commandsAbout(
  { command }: Pick<Session, 'command'>,
  { webhook_id: id }: Pick<WebhookRecord, 'webhook_id'>,
  operator: boolean | undefined,
) {
  return (name: string, options = ''): string =>
    [`${command} webhooks`, name, id, options, operator === true ? '--operator' : '']
      .filter((word) => word !== '')
      .join(' ');
}

export const REMOVABLE = ['description', 'types', 'rate'] as const;

export type Removable = (typeof REMOVABLE)[number];

export function readRemoved(text: string): Removable[] {
  return text.split(',').map((name) => {
    const known = REMOVABLE.find((one) => one === name.trim());
    if (known === undefined) throw new InvalidArgumentError(`Allowed fields are ${REMOVABLE.join(', ')}.`);
    return known;
  });
}

/** Reads `--type`, which can be repeated. A misspelled type would never be sent. */
export function readWebhookType(text: string, before: readonly string[] | undefined): string[] {
  if (!isTypeOrGroup(text)) {
    throw new InvalidArgumentError('It must be a type such as transfer.completed or "transfer.*".');
  }
  return [...(before ?? []), text];
}

/** Reads `--header`, which can be repeated: `Authorization: Bearer abc`. */
export function readHeader(text: string, before: Record<string, string> | undefined): Record<string, string> {
  const [, name = '', value = ''] = /^([^:\s]+):\s*(.+)$/.exec(text.trim()) ?? [];
  if (name === '')
    throw new InvalidArgumentError('It must be a name and a value, such as "Authorization: Bearer abc".');
  return { ...before, [name]: value };
}

export function readHeaderName(
  name: string,
  before: Readonly<Record<string, null>> | undefined,
): Readonly<Record<string, null>> {
  return { ...before, [name]: null };
}

export const readCount = (text: string): number => readWholeNumber(text);
