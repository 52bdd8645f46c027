import type { TransferExplanation } from '../../../contract/transfers.ts';
import { isSame, originalDetails, originalOf, replay } from '../../../domain/idempotency.ts';
import { type AmountReading, MINIMUM_AMOUNT, readAmount } from '../../../domain/ledger/money.ts';
import { Refusal, type Seen, shownSeen } from '../../../domain/refusal.ts';
import { foresee } from '../../../domain/transfers/money-sentence.ts';
import { TRANSFER_CHECKS, type TransferCheck } from '../../../domain/transfers/transfer-checks.ts';
import { type Finding, NOT_EVALUATED, type TransferView } from '../../../domain/transfers/transfer-view.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { transact } from '../../commit/transaction.ts';
import { Books } from './decide.ts';
import { loadFor } from './load.ts';
import { type CreateRequest, checkTerms, toCreateRequest } from './request.ts';

type NamedFinding = { readonly name: string; readonly finding: Finding };

/**
 * explain_transfer: runs every check of create_transfer, with the same reads under the same locks, and moves nothing. It refuses
 * only requests with a malformed body.
 */
export async function explainTransfer(
  service: Service,
  call: Call<'explain_transfer'>,
): Promise<Reply<'explain_transfer'>> {
  checkTerms(call, call.body);
  const reading = readAmount(call.body.amount);
  const amount = 'amount' in reading ? reading.amount : MINIMUM_AMOUNT;
  // The idempotency key is looked up in the scope of create_transfer, with the fingerprint of that operation.
  const request = toCreateRequest({ ...call, operation: 'create_transfer' }, amount);
  const connectorState = service.processors.stateOf;
  const record = await transact(service.database, call.deadline, loadFor([request], 'wait'), (loaded) => ({
    result: explain(new Books(loaded, { compactsPayloads: false, connectorState }), request, reading),
    writes: [],
    readsOnly: true,
  }));
  return { record };
}

function explain(books: Books, request: CreateRequest, reading: AmountReading): TransferExplanation {
  const view = books.view(request);
  const findings: readonly NamedFinding[] = [
    { name: 'amount', finding: examineAmount(reading) },
    { name: 'idempotency_key', finding: examineKey(books, request) },
    ...TRANSFER_CHECKS.map((check) => ({
      name: check.name,
      finding: isNotApplicable(check, request, reading) ? NOT_EVALUATED : check.examine(request.terms, view),
    })),
  ];
  const failures = findings.flatMap(({ finding }) => (finding.outcome === 'failed' ? [finding.refusal.code] : []));
  const [first] = isReplay(books, request) ? [] : failures;
  return {
    would_succeed: first === undefined,
    first_failure: first ?? null,
    result: first === undefined && !isReplay(books, request) ? resultOf(request, view) : null,
    checks: findings.map(({ name, finding }) => ({
      name,
      outcome: finding.outcome,
      code: finding.outcome === 'failed' ? finding.refusal.code : null,
      message: finding.outcome === 'failed' ? finding.refusal.message : null,
      saw: finding.outcome === 'not_evaluated' ? {} : shownOf(finding.saw),
    })),
  };
}

function resultOf({ terms, sandboxBehavior }: CreateRequest, { card }: TransferView): TransferExplanation['result'] {
  if (card === undefined) return null;
  const { status, moneyMoved, sentence } = foresee(terms, card, sandboxBehavior);
  return { status, money_moved: moneyMoved, sentence };
}

/** Returns the values that a check used, without the reason that an operator gave for disabling something. */
function shownOf({ reason: _, ...saw }: Seen): TransferExplanation['checks'][number]['saw'] {
  return Object.fromEntries(Object.entries(saw).map(([name, value]) => [name, shownSeen(value)]));
}

/** Returns whether a check cannot run: because there is no valid amount, or because a scheduled transfer is not due yet. */
function isNotApplicable(check: TransferCheck, { terms }: CreateRequest, reading: AmountReading): boolean {
  if (check.needsAmount === true && 'problem' in reading) return true;
  return check.whenDue === true && terms.scheduledFor !== null;
}

/** Returns whether create_transfer would replay a success that is stored under the key, without looking at the ledger. */
function isReplay(books: Books, request: CreateRequest): boolean {
  const stored = books.stored(request);
  return stored?.status === 201 && request.key !== null && isSame(stored, request.key.fingerprint);
}

function examineAmount(reading: AmountReading): Finding {
  if ('amount' in reading) return { outcome: 'passed', saw: { amount: reading.amount } };
  return { outcome: 'failed', saw: {}, refusal: new Refusal('invalid_amount', reading.problem) };
}

/** If a response is stored under the key, create_transfer sends it again and checks nothing else. */
function examineKey(books: Books, request: CreateRequest): Finding {
  if (request.key === null) return NOT_EVALUATED;
  const stored = books.stored(request);
  if (stored === undefined) return { outcome: 'passed', saw: { used_before: false } };
  const first = replay(stored, request.key.fingerprint);
  const original = originalOf(stored);
  const saw = { used_before: true, kept_status: stored.status, ...originalDetails(original).saw };
  if (first instanceof Refusal) return { outcome: 'failed', saw, refusal: first };
  if (first.code === null) return { outcome: 'passed', saw };
  return { outcome: 'failed', saw, refusal: new Refusal(first.code, first.message ?? '') };
}
