import { formatMoney } from '../domain/ledger/money.ts';
import { printable } from '../domain/printable-text.ts';
import type { OperatorEventRecord, TransferServiceEvent } from '../sdk/client.ts';
import { plainTime } from './plain-time.ts';

/** The longest of the known types, so that what follows is aligned. */
const TYPE_WIDTH = 18;
/** Positions below a million are aligned. */
const POSITION_WIDTH = 6;

/** The position, the type and the subject of an event. */
export function eventHead({ position, type, subject_id }: TransferServiceEvent): string {
  return printable(`${String(position).padStart(POSITION_WIDTH)}  ${type.padEnd(TYPE_WIDTH)}  ${subject_id}`);
}

/** An event on one line, with what it says in a few words. */
export function eventLine(event: TransferServiceEvent): string {
  return `${[plainTime(event.created_at), eventHead(event), summaryOf(event)].map(printable).join('  ').trimEnd()}\n`;
}

/** The line of an event for operators, which begins with its number and its card program. */
export function operatorEventLine(event: OperatorEventRecord): string {
  const number = String(event.number).padStart(POSITION_WIDTH);
  return `${number}  ${printable(event.program_id ?? 'service')}  ${eventLine(event)}`;
}

/** What happened, in a few words. */
function summaryOf(event: TransferServiceEvent): string {
  switch (event.type) {
    case 'switch.changed':
      return event.data.disabled ? 'disabled' : 'enabled';
    case 'funding.low':
      return `${amountText(event.data.available, event.data.currency)} available`;
    case 'error.recorded':
      return `${event.data.count} × ${event.data.error.Code}`;
    case 'transfer.failed':
    case 'transfer.late_approval':
      return [summaryOfData(event.data), event.data.error?.Code ?? ''].join('  ');
    default:
      return summaryOfData(event.data);
  }
}

function summaryOfData(data: unknown): string {
  const { amount, currency, card_id, name }: Readonly<Record<string, unknown>> = Object(data);
  const money = typeof amount === 'number' && typeof currency === 'string' ? amountText(amount, currency) : '';
  const other = typeof card_id === 'string' ? card_id : name;
  return [money, typeof other === 'string' ? other : ''].filter((word) => word !== '').join('  ');
}

function amountText(amount: number, currency: string): string {
  return Number.isSafeInteger(amount) ? formatMoney(BigInt(amount), currency) : String(amount);
}
