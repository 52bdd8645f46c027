import type { CaseRecord, CreateIncidentBody, IncidentRecord, Overview, SwitchRecord } from '../../../sdk/client.ts';
import { sentenceCase } from '../names.ts';
import { formatNumber, type SwitchScope, scopeText } from '../operators/switch.ts';

export type CoveredError = {
  readonly program_id: string | null;
  readonly operation: string | null;
  readonly code: string;
};

/** Whether an open incident covers an error, by the same rules as the `Incident` header of the service. */
export function covers(incident: IncidentRecord, { program_id: programId, operation, code }: CoveredError): boolean {
  const { status, scope, codes } = incident;
  if (status !== 'open' || (codes.length > 0 && !codes.includes(code))) return false;
  if (scope === 'program') return programId !== null && incident.program_id === programId;
  return scope === 'all' || incident.operation === operation;
}

/** Says how many attached cases the incident does not cover, to follow another sentence. Empty if there are none. */
export function uncoveredText(attached: number, uncovered: number): string {
  if (uncovered === 0) return '';
  const errors = uncovered === 1 ? 'the error of 1' : `the errors of ${uncovered.toLocaleString('en-US')}`;
  return ` The incident does not cover ${attached === 1 ? 'its error' : `${errors} of them`}.`;
}

/** The error code of transfers that the switch refuses. */
const SWITCHED_OFF = 'service_disabled';

/** Returns the open incidents about a setting of the switch. They can end when the setting is restarted. */
export function incidentsOfSwitch(
  incidents: readonly IncidentRecord[],
  { program_id: programId, connector_id: connectorId }: Pick<SwitchRecord, 'program_id' | 'connector_id'>,
): readonly IncidentRecord[] {
  return incidents.filter(
    ({ status, scope, program_id: own, codes, title }) =>
      status === 'open' &&
      codes.includes(SWITCHED_OFF) &&
      (scope === 'program' ? own : null) === programId &&
      // An incident has no field for the connector, but its title names the connector.
      (connectorId === null || title.includes(connectorId)),
  );
}

/** The fields of a new incident, as typed into a form. */
export type IncidentDraft = {
  readonly title: string;
  readonly public_text: string;
  readonly internal_text: string;
  readonly scope: CreateIncidentBody['scope'];
  readonly program_id: string;
  readonly operation: string;
  /** Separated by spaces. */
  readonly codes: string;
  /** ISO 8601. Empty for now. Cases opened since then are proposed. */
  readonly started_at: string;
};

/** A new incident without any details. */
export const EMPTY_DRAFT: IncidentDraft = {
  title: '',
  public_text: '',
  internal_text: '',
  scope: 'all',
  program_id: '',
  operation: '',
  codes: '',
  started_at: '',
};

type Burst = Overview['proposed_incidents'][number];

/** Says how often a code occurs: `240 times in the last minute, and 3 times in the hour before`. */
export function burstText({ in_last_minute: now, in_hour_before: before }: Omit<Burst, 'code'>): string {
  return `${formatNumber(now, 'time')} in the last minute, and ${before === 0 ? 'never' : formatNumber(before, 'time')} in the hour before`;
}

/** A burst happens within the last minute. */
const BURST_MILLISECONDS = 60_000;

/** Returns an incident for a code that suddenly occurs often, at a time in milliseconds. */
export function draftOfBurst({ code, ...counts }: Burst, now: number): IncidentDraft {
  return {
    ...EMPTY_DRAFT,
    title: `Many requests fail with ${code}`,
    public_text: `Requests fail with ${code}. We are looking for the cause.`,
    internal_text: `${code} occurred ${burstText(counts)}.`,
    codes: code,
    started_at: new Date(now - BURST_MILLISECONDS).toISOString(),
  };
}

/** Returns an incident for the error of the first of these cases. The incident starts when the oldest open case was opened. */
export function draftOfCases(cases: readonly CaseRecord[]): IncidentDraft {
  const code = cases[0]?.code ?? '';
  const operation = cases[0]?.operation ?? null;
  const open = cases.filter(({ status }) => status === 'open' || status === 'waiting');
  return {
    ...EMPTY_DRAFT,
    title: operation === null ? `Requests fail with ${code}` : `${operation} fails with ${code}`,
    public_text: `Requests fail with ${code}. We are looking for the cause.`,
    codes: code,
    started_at: open.map(({ created_at: at }) => at).toSorted()[0] ?? '',
  };
}

/** Returns an incident for a stop by the switch. The reason is for operators, so the user decides which parts become public. */
export function draftOfStop(
  setting: SwitchScope & Pick<SwitchRecord, 'since'>,
  programName: string,
  reason: string,
): IncidentDraft {
  const what = sentenceCase(scopeText(setting, programName));
  const isAll = setting.scope === 'service';
  return {
    ...EMPTY_DRAFT,
    title: isAll ? 'All transfers are stopped' : `${what} are stopped`,
    public_text: `We have stopped ${isAll ? 'all transfers' : scopeText(setting, programName)} for the time being. No money is lost.`,
    internal_text: reason,
    scope: setting.program_id === null ? 'all' : 'program',
    program_id: setting.program_id ?? '',
    codes: SWITCHED_OFF,
    started_at: setting.since,
  };
}

/** Splits codes at spaces or commas. */
export function codesIn(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((code) => code !== ''))];
}

export function bodyOf(draft: IncidentDraft): CreateIncidentBody {
  const { title, public_text, scope } = draft;
  const internal = draft.internal_text.trim();
  const codes = codesIn(draft.codes);
  return {
    title: title.trim(),
    public_text: public_text.trim(),
    scope,
    ...(internal !== '' && { internal_text: internal }),
    ...(scope === 'program' && { program_id: draft.program_id }),
    ...(scope === 'operation' && { operation: draft.operation.trim() }),
    ...(codes.length > 0 && { codes }),
    ...(draft.started_at !== '' && { started_at: draft.started_at }),
  };
}
