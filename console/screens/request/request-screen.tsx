import { type InspectedErrorRecord, type RequestRecord, TransferServiceError } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, CopyButton } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { Details, Highlights } from '../../components/details.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { CardName, KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { ContactSupport } from '../../components/support/contact-support.tsx';
import { KnownIncident } from '../../components/support/coverage.tsx';
import { backgroundClient } from '../../data/client.ts';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useProgramOf } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatAmount, formatDigits } from '../../format/amounts.ts';
import { kindOfSubject, timeOfRequest } from '../../format/ids.ts';
import { ofProgram, ticketOf, titleOf, toShownRequest } from '../../format/requests/requests.ts';
import { currencyOfError } from '../../format/requests/values.ts';
import { withoutAdvice } from '../../format/support/advice.ts';
import { ErrorDetails, WhatToDo } from './error-details.tsx';
import './request.css';

/** An error is stored within a second, so the screen retries until then. */
const RETRY_MILLISECONDS = 1_000;
const RECENT_MILLISECONDS = 6_000;

/** Shows what a request did and why it failed. Callers who can't read requests see only the error. */
export function RequestScreen({ parameters }: { readonly parameters: Parameters }) {
  const requestId = parameters.request_id ?? '';
  const { can, has } = useSession();
  const seesAll = can('inspect_request');
  const seesEffects = seesAll || (can('get_request') && has('transfers:read') && has('events:read'));
  const state = useOperation(
    async (asked, options) => {
      // The reads of a recent request are repeated in the background, because its error may not be stored yet.
      const api = isRecent(requestId) ? backgroundClient : asked;
      for (;;) {
        try {
          if (seesAll) return await api.requests.inspect(requestId, options);
          if (seesEffects) return ofProgram(await api.requests.get(requestId, options));
          return toShownRequest(await api.errors.get(requestId, options));
        } catch (error) {
          const isMissing = error instanceof TransferServiceError && error.Status === 404;
          if (!isMissing || !isRecent(requestId)) throw error;
          await new Promise((resolve) => window.setTimeout(resolve, RETRY_MILLISECONDS));
        }
      }
    },
    { deps: [requestId, seesAll, seesEffects], ofAnyProgram: seesAll },
  );
  useProgramOf(state.data?.program_id);
  const isMissing = state.error instanceof TransferServiceError && state.error.Status === 404;
  return (
    <Page
      title={state.data === undefined ? 'Request' : titleOf(state.data)}
      lead={<Id id={requestId} kind="other" whole />}
      actions={state.data && <Actions of={state.data} />}
    >
      <Loaded state={state}>{(record) => <RequestContent record={record} />}</Loaded>
      {isMissing && (
        <Empty title="What to try next">
          {seesEffects
            ? 'Compare the id with the Request-Id header of the response. Successful reads and replays are not recorded. Find their transfer by its reference or idempotency key.'
            : 'Compare the id with the Request-Id header of the response. A successful request has no error. Find its transfer by its reference or idempotency key.'}
        </Empty>
      )}
    </Page>
  );
}

/** Whether an id was created a moment ago, according to the time in it. */
function isRecent(requestId: string): boolean {
  return Math.abs(Date.now() - timeOfRequest(requestId)) < RECENT_MILLISECONDS;
}

function Actions({ of: record }: { readonly of: RequestRecord }) {
  const { error, operation } = record;
  const { can } = useSession();
  // A case needs a program. Card programs see only their own requests, even if the record names no program.
  const isOfProgram = record.program_id !== null || !can('inspect_request');
  const isTransfer = error !== null && operation === 'create_transfer' && error.request !== null;
  return (
    <>
      {isTransfer && <ButtonLink href={explainHref(error, record.program_id)}>Re-check now</ButtonLink>}
      <CopyButton visible label="Copy for a ticket" text={ticketOf(record, window.location.origin)} />
      {error !== null && isOfProgram && (
        <ContactSupport about={{ request_id: record.request_id }} programId={record.program_id} />
      )}
    </>
  );
}

/** Returns the link to Explain, filled in with the request. That screen finds the currency if it is unknown here. */
function explainHref(error: InspectedErrorRecord, programId: string | null): string {
  const request = error.request ?? {};
  const query: Record<string, string> = {};
  for (const name of ['card_id', 'destination_card_id', 'type', 'capture', 'currency', 'reference'] as const) {
    const value = request[name];
    if (typeof value === 'string') query[name] = value;
  }
  // The caller may have sent anything as the amount.
  const minorUnits = String(request.amount ?? '');
  const currency = currencyOfError(error);
  if (/^\d{1,15}$/.test(minorUnits)) {
    if (currency === undefined) query.minor_units = minorUnits;
    else query.amount = formatDigits(minorUnits, currency);
  }
  if (programId !== null) query.program = programId;
  return hrefTo('/console/explain', query);
}

function RequestContent({ record }: { readonly record: RequestRecord }) {
  const { error } = record;
  const { can } = useSession();
  const side = can('inspect_request') ? 'support' : 'caller';
  const summary = side === 'support' ? withoutAdvice(record.summary) : record.summary;
  return (
    <>
      <p class={`answer ${toneOf(record)}`}>
        <LinkedText text={summary} programId={record.program_id} />
      </p>
      {error !== null && error.type !== 'Request Error' && (
        <KnownIncident error={{ ...error, program_id: record.program_id }} />
      )}
      <RequestFacts record={record} />
      {error !== null && (
        <div class="beside">
          <div class="beside-part">
            <WhatToDo about={{ ...error, money_moved: record.money_moved }} side={side} />
          </div>
          <div class="beside-part">
            <ErrorDetails error={error} />
          </div>
        </div>
      )}
      <Effects record={record} />
      {!record.complete && <p class="quiet">The search timed out: there may be more. Reload to search again.</p>}
    </>
  );
}

/** Faults and unknown outcomes stand out. Refusals by a rule do not. */
function toneOf({ outcome, money_moved: moved, error }: RequestRecord): 'fault' | 'unknown' | 'declined' | '' {
  if (moved === 'unknown') return 'unknown';
  if (outcome === 'succeeded') return '';
  return (error?.status ?? 0) >= 500 ? 'fault' : 'declined';
}

const MONEY = { yes: 'Moved', no: 'Not moved', unknown: 'Not known' } as const;

function RequestFacts({ record }: { readonly record: RequestRecord }) {
  const { outcome, status, caller, program_id, idempotency_key, error, operation, received_at } = record;
  return (
    <>
      <Highlights
        facts={[
          { name: 'Money', value: MONEY[record.money_moved] },
          {
            name: 'Received',
            value: <Moment at={received_at} distance actual />,
            note: <Moment at={received_at} actual />,
          },
        ]}
      />
      <Details
        facts={[
          ['Operation', operation ?? 'Unknown'],
          [
            'Response',
            <span key="response">
              {status ?? outcome.replace('_', ' ')}
              {error !== null && (
                <>
                  {' '}
                  <a href={`/errors/${encodeURIComponent(error.code)}`}>{error.code}</a>
                </>
              )}
            </span>,
          ],
          error !== null && error.field !== null && ['Field', <code key="field">{error.field}</code>],
          error?.card_id != null && ['Card', <CardName key="card" id={error.card_id} programId={error.program_id} />],
          error?.transfer_id != null && [
            'Transfer',
            <Id key="transfer" id={error.transfer_id} programId={error.program_id} />,
          ],
          caller !== null && ['Sent by', <KeyName key="caller" id={caller} />],
          program_id !== null && ['Card program', <ProgramName key="program" id={program_id} />],
          idempotency_key !== null && ['Idempotency key', <Id key="key" id={idempotency_key} kind="other" />],
          error !== null &&
            error.path !== null && [
              'Sent to',
              <code key="path">
                {error.method} {error.path}
              </code>,
            ],
          error?.traceparent != null && ['Trace', <code key="trace">{error.traceparent}</code>],
        ]}
      />
    </>
  );
}

function Effects({ record }: { readonly record: RequestRecord }) {
  const { transfers, transfer_count, reversals, events, audit_entries } = record;
  const more = transfer_count - transfers.length;
  return (
    <>
      {transfers.length > 0 && (
        <Section title={transfer_count === 1 ? 'Transfer' : `${transfer_count} transfers`}>
          <DataTable
            label="Transfers"
            rows={transfers}
            rowKey={({ transfer_id }) => transfer_id}
            href={({ transfer_id, program_id }) => hrefTo(`/console/transfer/${transfer_id}`, { program: program_id })}
            columns={[
              { title: 'Transfer', cell: (row) => <Id id={row.transfer_id} programId={row.program_id} /> },
              { title: 'Status', cell: ({ status }) => <Badge>{status}</Badge> },
              { title: 'Type', cell: ({ type }) => type.replaceAll('_', ' ') },
              {
                title: 'Amount',
                align: 'end',
                cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
              },
              { title: 'Card', cell: (row) => <CardName id={row.card_id} programId={row.program_id} plain /> },
              { title: 'Created', cell: ({ created_at }) => <Moment at={created_at} />, wideOnly: true },
            ]}
          />
          {more > 0 && <p class="quiet">{more} more are not shown.</p>}
        </Section>
      )}
      {reversals.length > 0 && (
        <Section title="Reversal">
          <ul class="plain-lines">
            {reversals.map(({ reversal_id, transfer_id, program_id, amount, currency, description }) => (
              <li key={reversal_id}>
                <Id id={reversal_id} kind="other" /> moved {formatAmount(amount, currency)} of{' '}
                <Id id={transfer_id} programId={program_id} /> back
                {description === null ? '.' : `: ${description}`}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {events.length > 0 && (
        <Section title="Events">
          <DataTable
            label="Events"
            rows={events}
            rowKey={({ event_id }) => event_id}
            columns={[
              { title: 'Type', cell: ({ type }) => <a href={`/events/${type}`}>{type}</a> },
              {
                title: 'About',
                cell: ({ subject_id: id, type, program_id: programId }) => (
                  <Id id={id} kind={kindOfSubject(type)} programId={programId} />
                ),
              },
              { title: 'Event', cell: ({ event_id }) => <Id id={event_id} /> },
              { title: 'Time', cell: ({ created_at }) => <Moment at={created_at} /> },
            ]}
          />
        </Section>
      )}
      {audit_entries.length > 0 && (
        <Section title="Audit log">
          <DataTable
            label="Audit entries"
            rows={audit_entries}
            rowKey={({ entry_id }) => entry_id}
            columns={[
              { title: 'Position', cell: ({ position }) => position },
              { title: 'Action', cell: ({ action }) => action },
              { title: 'By', cell: ({ actor }) => <KeyName id={actor} plain /> },
              {
                title: 'About',
                cell: ({ subject_id: id, action }) => (
                  <Id id={id} kind={kindOfSubject(action)} programId={record.program_id} />
                ),
              },
              { title: 'Time', cell: ({ created_at }) => <Moment at={created_at} /> },
            ]}
          />
        </Section>
      )}
    </>
  );
}
