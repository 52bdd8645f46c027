import type { Account } from '../../domain/ledger/ledger.ts';
import type { CounterChange } from '../../domain/ledger/limits.ts';
import { decideCancel, decideCapture, decideExecution, decideExpiry } from '../../domain/transfers/change-transfer.ts';
import { decideTransfer, type TransferPlan } from '../../domain/transfers/create-transfer.ts';
import { decideReversal } from '../../domain/transfers/reverse-transfer.ts';
import type { TransferTerms, TransferType } from '../../domain/transfers/transfer.ts';
import { ACCOUNTS, AMOUNT, accountsAfter, asked, inDays, requirePlan, view } from './transfer-examples.ts';

const PART = 60n;

const AMOUNT_NAMES: ReadonlyMap<bigint, string> = new Map([
  [AMOUNT, 'the amount'],
  [PART, 'the part'],
  [AMOUNT - PART, 'the rest'],
]);

type Step = { readonly plan: TransferPlan; readonly before: readonly Account[] };

/** One phase in the life of a transfer, executed with the rules of the service. */
type Phase = { readonly name: string; readonly play: (type: TransferType) => Step };

const MANUAL = { capture: 'manual' } as const;
const LATER = { scheduledFor: inDays(1) } as const;

function create(type: TransferType, changes: Partial<TransferTerms> = {}): Step {
  return { plan: requirePlan(decideTransfer(asked(type, changes), view())), before: ACCOUNTS };
}

/** A later step of a transfer, on the accounts after its creation. */
function afterwards(
  { plan: { transfer, hold, ...plan } }: Step,
  days: number,
  decide: (existing: Existing, view: ReturnType<typeof viewOf>) => ReturnType<typeof decideCancel>,
): Step {
  const before = accountsAfter({ transfer, hold, ...plan });
  const seen = viewOf(before, days);
  return { plan: requirePlan(decide({ transfer, hold: hold ?? undefined }, seen)), before };
}

type Existing = Parameters<typeof decideCancel>[0];

function viewOf(accounts: readonly Account[], days: number) {
  return view({ now: inDays(days) }, accounts);
}

function reversalOf(amount: bigint | null) {
  const requestId = '00000000-0000-7000-8000-000000000002';
  return ({ transfer }: Existing, seen: ReturnType<typeof viewOf>) =>
    decideReversal(transfer, { reversalId: requestId, requestId, createdBy: null, description: null, amount }, seen);
}

const PHASES: readonly Phase[] = [
  { name: 'create, capture automatic', play: (type) => create(type) },
  { name: 'create, capture manual', play: (type) => create(type, MANUAL) },
  { name: 'create, scheduled for later', play: (type) => create(type, LATER) },
  {
    name: 'execute, capture automatic',
    play: (type) => afterwards(create(type, LATER), 1, ({ transfer }, seen) => decideExecution(transfer, seen)),
  },
  {
    name: 'execute, capture manual',
    play: (type) =>
      afterwards(create(type, { ...LATER, ...MANUAL }), 1, ({ transfer }, seen) => decideExecution(transfer, seen)),
  },
  {
    name: 'execute, after its hold would have expired',
    play: (type) =>
      afterwards(create(type, { ...LATER, ...MANUAL }), 9, ({ transfer }, seen) => decideExecution(transfer, seen)),
  },
  {
    name: 'capture, whole',
    play: (type) => afterwards(create(type, MANUAL), 1, (existing, seen) => decideCapture(existing, null, seen)),
  },
  {
    name: 'capture, a part',
    play: (type) => afterwards(create(type, MANUAL), 1, (existing, seen) => decideCapture(existing, PART, seen)),
  },
  { name: 'cancel, while scheduled', play: (type) => afterwards(create(type, LATER), 0, decideCancel) },
  { name: 'cancel, while pending', play: (type) => afterwards(create(type, MANUAL), 1, decideCancel) },
  { name: 'expire', play: (type) => afterwards(create(type, MANUAL), 7, decideExpiry) },
  { name: 'reverse, whole', play: (type) => afterwards(create(type), 1, reversalOf(null)) },
  { name: 'reverse, a part', play: (type) => afterwards(create(type), 1, reversalOf(PART)) },
];

/** Returns the effects of each phase of a transfer on the ledger, as rows of a table. */
export function phaseRows(type: TransferType): readonly (readonly string[])[] {
  return PHASES.map(({ name, play }) => {
    const { plan, before } = play(type);
    return [`\`${type}\``, name, postingsOf(plan), holdOf(plan, before), countsOf(plan), `\`${plan.transfer.status}\``];
  });
}

function nameOf(amount: bigint): string {
  const name = AMOUNT_NAMES.get(amount < 0n ? -amount : amount);
  if (name === undefined) throw new Error(`the examples have no name for the amount ${amount}`);
  return name;
}

function postingsOf({ postings }: TransferPlan): string {
  return postings
    .map(({ sourceAccountId, destinationAccountId, amount }) => {
      return `${sourceAccountId} → ${destinationAccountId}, ${nameOf(amount)}`;
    })
    .join('; ');
}

/** The change of `held` and `incoming`, which always change together. */
function holdOf({ accounts }: TransferPlan, before: readonly Account[]): string {
  const was = new Map(before.map((one) => [one.accountId, one]));
  const changes = accounts.map((one) => ({
    accountId: one.accountId,
    held: one.held - (was.get(one.accountId)?.held ?? 0n),
    incoming: one.incoming - (was.get(one.accountId)?.incoming ?? 0n),
  }));
  const at = changes.find(({ held }) => held !== 0n);
  const towards = changes.find(({ incoming }) => incoming !== 0n);
  if (at === undefined && towards === undefined) return '';
  if (at === undefined || at.held !== towards?.incoming) throw new Error('a hold is at one end only');
  return `${at.held > 0n ? 'placed' : 'lifted'}: ${at.accountId} for ${towards.accountId}, ${nameOf(at.held)}`;
}

function countsOf({ counts }: TransferPlan): string {
  const [first] = counts;
  if (first === undefined) return '';
  if (!counts.every(({ amount, count }) => amount === first.amount && count === first.count)) {
    throw new Error('the ends of a transfer are counted differently');
  }
  return [signed(first.amount, nameOf(first.amount)), ...(first.count === 0n ? [] : [countedOf(first)])].join(', ');
}

function signed(value: bigint, name: string): string {
  return `${value < 0n ? '−' : '+'} ${name}`;
}

function countedOf({ count }: CounterChange): string {
  return signed(count, `${count < 0n ? -count : count} transfer`);
}
