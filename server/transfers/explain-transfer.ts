import type { CreateTransferBody, TransferExplanation } from '../../contract/transfers.ts';
import { replay } from '../../domain/idempotency.ts';
import { type AmountReading, MINIMUM_AMOUNT, readAmount } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import {
  type Finding,
  NOT_EVALUATED,
  TRANSFER_CHECKS,
  type TransferCheck,
} from '../../domain/transfers/transfer-checks.ts';
import { transact } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { Books } from './decide.ts';
import { loadFor } from './load.ts';
import { checkTerms, type TransferRequest, toTransferRequest } from './request.ts';

/** What a check saw. */
type Seen = TransferExplanation['checks'][number]['saw'];

type NamedFinding = { readonly name: string; readonly finding: Finding };

/**
 * explain_transfer: the checks of create_transfer, on the same reads under the same locks, all of them run and none
 * of them moving anything. Its own faults are those of the body's form only.
 */
export async function explainTransfer(service: Service, call: Call): Promise<Reply> {
  const body = call.members as CreateTransferBody;
  checkTerms(call, body);
  const reading = readAmount(body.amount);
  const request = toTransferRequest(asCreateTransfer(call), 'amount' in reading ? reading.amount : MINIMUM_AMOUNT);
  const explanation = await transact(service.database, call.deadline, loadFor([request], 'wait'), (loaded) => ({
    result: explain(new Books(loaded), request, reading),
    writes: [],
    readsOnly: true,
  }));
  return { status: 200, body: JSON.stringify(explanation) };
}

/** A key is looked up as create_transfer would look it up: in its scope, with its fingerprint. */
function asCreateTransfer(call: Call): Call {
  return { ...call, operation: 'create_transfer' };
}

function explain(books: Books, request: TransferRequest, reading: AmountReading): TransferExplanation {
  const view = books.view(request);
  const findings: readonly NamedFinding[] = [
    { name: 'amount', finding: examineAmount(reading) },
    { name: 'idempotency_key', finding: examineKey(books, request) },
    ...TRANSFER_CHECKS.map((check) => ({
      name: check.name,
      finding: isOutOfPlace(check, request, reading) ? NOT_EVALUATED : check.examine(request.terms, view),
    })),
  ];
  const failures = findings.flatMap(({ finding }) => (finding.outcome === 'failed' ? [finding.refusal.code] : []));
  const [first] = isKeptSuccess(books, request) ? [] : failures;
  return {
    would_succeed: first === undefined,
    first_failure: first ?? null,
    checks: findings.map(({ name, finding }) => ({
      name,
      outcome: finding.outcome,
      code: finding.outcome === 'failed' ? finding.refusal.code : null,
      message: finding.outcome === 'failed' ? finding.refusal.message : null,
      saw: finding.outcome === 'not_evaluated' ? {} : shownOf(finding.saw),
    })),
  };
}

/** What a check saw, but for what operators wrote down for each other: why they have disabled something. */
function shownOf({ reason: _, ...shown }: Seen): Seen {
  return shown;
}

/** Whether a check has nothing to look at: an amount that is none, or books that count only when a transfer is due. */
function isOutOfPlace(check: TransferCheck, { terms }: TransferRequest, reading: AmountReading): boolean {
  if (check.needsAmount === true && 'problem' in reading) return true;
  return check.whenDue === true && terms.scheduledFor !== null;
}

/** A success that is kept under the key is answered again, however the books stand by now. */
function isKeptSuccess(books: Books, request: TransferRequest): boolean {
  const stored = books.stored(request);
  return stored?.status === 201 && stored.fingerprint === request.key?.fingerprint;
}

function examineAmount(reading: AmountReading): Finding {
  if ('amount' in reading) return { outcome: 'passed', saw: { amount: reading.amount.toString() } };
  return { outcome: 'failed', saw: {}, refusal: new Refusal('invalid_amount', reading.problem) };
}

/** A key with a kept answer: create_transfer would give that answer again and look at nothing else. */
function examineKey(books: Books, request: TransferRequest): Finding {
  if (request.key === null) return NOT_EVALUATED;
  const stored = books.stored(request);
  if (stored === undefined) return { outcome: 'passed', saw: { used_before: false } };
  const first = replay(stored, request.key.fingerprint);
  const saw = { used_before: true, kept_status: stored.status };
  if (first instanceof Refusal) return { outcome: 'failed', saw, refusal: first };
  if (first.code === null) return { outcome: 'passed', saw };
  return { outcome: 'failed', saw, refusal: new Refusal(first.code, first.message ?? '') };
}
