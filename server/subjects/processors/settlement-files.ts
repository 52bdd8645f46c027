import { MAX_NOTE_CHARACTERS } from '../../../contract/processors/attempts.ts';
import { SettlementFileLine, type SettlementFileRecord } from '../../../contract/processors/settlement-files.ts';
import { isJsonObject, type JsonValue } from '../../../contract/reading/json.ts';
import { readFields } from '../../../contract/reading/read-fields.ts';
import { redactCardNumbers } from '../../../domain/cards/card-number.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { isCurrency } from '../../../domain/ledger/money.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { requireConnector } from '../../calls/processors.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toFileRecord } from '../../calls/records/processor.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { Row } from '../../store/connection/database.ts';
import {
  type FileTotals,
  findNumberedFile,
  findSettlementFile,
  insertSettlementFile,
  insertSettlementLines,
  listSettlementFiles as listStatement,
  lockSettlementFile,
  markFileWithdrawn,
  type NewLine,
  readSettlementFile,
  type SettlementFile,
  toSettlementFile,
  updateSettlementFile,
} from '../../store/processors/settlement-file.ts';
import { actorOf, auditOf, withoutHolderValues } from '../audit/audit.ts';

/** A UUID that no file has. It is looked up instead of a malformed id. */
const NO_FILE = '00000000-0000-0000-0000-000000000000';

const NEW = {
  status: 'receiving',
  linesReceived: 0,
  linesExamined: 0,
  matched: 0,
  reported: 0,
  differs: 0,
  duplicate: 0,
  missingInLedger: 0,
  totals: {},
  matchedAt: null,
  withdrawnAt: null,
  withdrawnBy: null,
  withdrawalNote: null,
} as const;

/**
 * create_settlement_file: returns the new file, or the existing file with the same contents if it was not withdrawn. Refuses the
 * number of another file.
 */
export async function createSettlementFile(
  service: Service,
  call: Call<'create_settlement_file'>,
): Promise<Reply<'create_settlement_file'>> {
  const { connector_id: connectorId, name, sha256, line_count: lineCount, sequence_number: sent } = call.body;
  const sequenceNumber = sent ?? null;
  requireConnector(service.processors, connectorId);
  const numbered = sequenceNumber === null ? null : findNumberedFile({ connectorId, sequenceNumber });
  return transactUnderKey(service, call, {
    load: { known: findSettlementFile({ connectorId, sha256 }), numbered },
    decide: ({ known: [row], numbered: [sameNumber] }, { now }) => {
      checkNumber(call, row ?? sameNumber);
      if (row !== undefined) {
        const known = toSettlementFile(row);
        return { record: toFileRecord(known), subjectId: known.fileId, existing: true, writes: [] };
      }
      const about = { connectorId, name, sha256, sequenceNumber, lineCount };
      const created = { ...NEW, ...about, fileId: idAt(now), createdAt: now };
      const file: SettlementFile = { ...created, createdBy: actorOf(call.caller) };
      const record = toFileRecord(file);
      const audited = { programId: null, subjectId: record.file_id, details: JSON.stringify(record) };
      return { record, subjectId: file.fileId, writes: [insertSettlementFile(file), ...auditOf(call, audited)] };
    },
    recall: (fileId) => readRecord(service, fileId),
  });
}

/** Refuses a number that contradicts a file with the same contents, or that another file has. */
function checkNumber(call: Call<'create_settlement_file'>, row: Row | undefined): void {
  const { sequence_number: sent, sha256 } = call.body;
  if (row === undefined || sent === undefined) return;
  const known = toSettlementFile(row);
  const { sequenceNumber: number } = known;
  const isSame = known.sha256 === sha256;
  // A file that was stored without a number keeps none, so that a repeated import changes nothing.
  if (isSame && (number === sent || number === null)) return;
  const fileId = toWireId('stl', known.fileId);
  const message = isSame
    ? `The settlement file '${fileId}' has the same contents and the sequence number ${number}. To change the number, withdraw that file first.`
    : `The settlement file '${fileId}' of this connector has the sequence number ${sent}. If that file is wrong, withdraw it first. If the processor reuses its numbers, leave the number out.`;
  throw schemaRefusal(call, message, '/sequence_number');
}

/** add_settlement_lines: returns the file with these lines. Lines that are already stored change nothing. */
export async function addSettlementLines(
  service: Service,
  call: Call<'add_settlement_lines'>,
): Promise<Reply<'add_settlement_lines'>> {
  const { first_line: first, lines: sent } = call.body;
  const lines = sent.map((line, index) => readLine(call, line, index, first + index));
  const load = { files: lockSettlementFile({ fileId: fileIdOf(call) }) };
  const record = await transact<SettlementFileRecord, 'files'>(service.database, call.deadline, load, ({ files }) => {
    const file = requireFile(call, files);
    if (file.withdrawnAt !== null) {
      const message = `The settlement file '${call.params.file_id}' was withdrawn. Import the file again.`;
      throw new Refusal('settlement_file_withdrawn', message);
    }
    checkPlace(call, file, first + lines.length - 1);
    const added = lines.filter(({ lineNumber }) => lineNumber > file.linesReceived);
    const linesReceived = file.linesReceived + added.length;
    if (added.length === 0) return { result: toFileRecord(file), writes: [], readsOnly: true };
    const isWhole = linesReceived === file.lineCount;
    const after = {
      ...file,
      linesReceived,
      totals: withLines(file.totals, added),
      status: isWhole ? ('matching' as const) : file.status,
    };
    const { fileId } = file;
    const details = JSON.stringify({ first_line: file.linesReceived + 1, lines_received: linesReceived });
    const audited = auditOf(call, { programId: null, subjectId: toWireId('stl', fileId), details });
    const writes = [insertSettlementLines({ fileId, sent: added }), updateSettlementFile(after), ...audited];
    return { result: toFileRecord(after), writes };
  });
  if (record.status === 'matching') service.processors.wake();
  return { record };
}

/** Refuses lines that leave a gap or that are beyond the end of the file. */
function checkPlace(
  call: Call<'add_settlement_lines'>,
  { linesReceived, lineCount }: SettlementFile,
  last: number,
): void {
  const { first_line: first } = call.body;
  if (first > linesReceived + 1) {
    const message = `The next line of the file is ${linesReceived + 1}, and you sent lines from ${first} on.`;
    throw schemaRefusal(call, message, '/first_line');
  }
  if (last > lineCount) {
    const message = `The file has ${lineCount} lines, as its line_count says, and you sent lines up to ${last}.`;
    throw schemaRefusal(call, message, '/lines');
  }
}

function readLine(call: Call<'add_settlement_lines'>, sent: JsonValue, index: number, lineNumber: number): NewLine {
  const at = `/lines/${index}`;
  const named = `Line ${lineNumber}`;
  if (!isJsonObject(sent)) throw schemaRefusal(call, `${named} must be an object.`, at);
  const reading = readFields(SettlementFileLine, sent, 'body');
  if ('problem' in reading) {
    const { message, field = '' } = reading.problem;
    throw schemaRefusal(call, `${named}: ${message}`, `${at}${field}`);
  }
  const {
    attempt_id: attemptId,
    processor_reference: reference,
    fee = 0,
    status = 'settled',
    ...line
  } = reading.fields;
  if (attemptId === undefined && reference === undefined) {
    throw schemaRefusal(call, `${named} needs 'attempt_id' or 'processor_reference'.`, at);
  }
  if (!isCurrency(line.currency)) {
    throw schemaRefusal(call, `${named}: '${line.currency}' is not an ISO 4217 currency code.`, `${at}/currency`);
  }
  return {
    ...{ lineNumber, kind: line.kind, amount: BigInt(line.amount), currency: line.currency, fee: BigInt(fee), status },
    attemptId: fromWireId('pat', attemptId ?? '') ?? null,
    sentAttemptId: attemptId === undefined ? null : redactCardNumbers(attemptId),
    processorReference: reference === undefined ? null : redactCardNumbers(reference),
    settledOn: line.settled_on,
  };
}

/** Returns the sums of a file after adding lines. */
function withLines(totals: FileTotals, lines: readonly NewLine[]): FileTotals {
  const sums = new Map(Object.entries(totals));
  for (const { currency, kind, status, amount, fee } of lines) {
    const before = sums.get(currency) ?? { pushed: '0', pulled: '0', reversed: '0', fees: '0' };
    const name = status === 'reversed' ? 'reversed' : kind === 'push' ? 'pushed' : 'pulled';
    const after = { ...before, [name]: String(BigInt(before[name]) + amount) };
    sums.set(currency, { ...after, fees: String(BigInt(after.fees) + fee) });
  }
  return Object.fromEntries(sums);
}

/** list_settlement_files: returns the files, newest first. */
export async function listSettlementFiles(
  service: Service,
  call: Call<'list_settlement_files'>,
): Promise<Reply<'list_settlement_files'>> {
  const { connector_id: connectorId = null } = call.query;
  const record = await readPage(service, call, {
    prefix: 'stl',
    statement: (after, count) => listStatement(connectorId, after, count),
    read: toSettlementFile,
    idOf: ({ fileId }) => fileId,
    show: toFileRecord,
  });
  return { record };
}

/** get_settlement_file: returns the file, or throws `settlement_file_not_found`. */
export async function getSettlementFile(
  { database }: Service,
  call: Call<'get_settlement_file'>,
): Promise<Reply<'get_settlement_file'>> {
  const rows = await readRows(database, readSettlementFile({ fileId: fileIdOf(call) }));
  return { record: toFileRecord(requireFile(call, rows)) };
}

/**
 * withdraw_settlement_file: returns the file. A job then undoes its effects. A file that is already withdrawn keeps its first note.
 */
export async function withdrawSettlementFile(
  service: Service,
  call: Call<'withdraw_settlement_file'>,
): Promise<Reply<'withdraw_settlement_file'>> {
  const reply = await transactUnderKey(service, call, {
    load: { files: lockSettlementFile({ fileId: fileIdOf(call) }) },
    decide: ({ files }, { now }) => {
      const file = requireFile(call, files);
      const { fileId } = file;
      if (file.withdrawnAt !== null) return { record: toFileRecord(file), subjectId: fileId, writes: [] };
      const withdrawn: SettlementFile = {
        ...file,
        // A file that was never compared has no effects to undo.
        status: file.status === 'receiving' ? 'withdrawn' : 'withdrawing',
        linesExamined: 0,
        withdrawnAt: now,
        withdrawnBy: actorOf(call.caller),
        withdrawalNote: withoutSecrets(call.body.note, MAX_NOTE_CHARACTERS),
      };
      const record = toFileRecord(withdrawn);
      const audited = {
        programId: null,
        subjectId: record.file_id,
        details: JSON.stringify(withoutHolderValues(record)),
      };
      return { record, subjectId: fileId, writes: [markFileWithdrawn(withdrawn), ...auditOf(call, audited)] };
    },
    recall: (fileId) => readRecord(service, fileId),
  });
  service.processors.wake();
  return reply;
}

type InFile = { readonly params: { readonly file_id: string } };

function fileIdOf({ params }: InFile): string {
  return fromWireId('stl', params.file_id) ?? NO_FILE;
}

function requireFile({ params: { file_id: sentId } }: InFile, [row]: readonly Row[]): SettlementFile {
  if (row !== undefined) return toSettlementFile(row);
  const hint = fromWireId('stl', sentId) === undefined ? ' The id of a settlement file is stl_ and 32 hex digits.' : '';
  throw new Refusal('settlement_file_not_found', `There is no settlement file '${sentId}'.${hint}`);
}

/** Reads the file that a stored response is about. */
async function readRecord({ database }: Service, fileId: string): Promise<SettlementFileRecord> {
  const call = { params: { file_id: toWireId('stl', fileId) } };
  return toFileRecord(requireFile(call, await readRows(database, readSettlementFile({ fileId }))));
}
