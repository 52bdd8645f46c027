import { describe, expect, test } from 'vitest';
import type { IncidentRecord } from '../../../sdk/client.ts';
import { openCasesText, responseText, statusOf, subjectOf, urgencyReason } from './cases.ts';
import { bodyOf, burstText, covers, draftOfStop, EMPTY_DRAFT, incidentsOfSwitch } from './incidents.ts';

const CREATED = '2026-11-23T12:00:00.000Z';
const NOW = Date.parse(CREATED) + 12 * 60_000;

describe('a case', () => {
  test.each([
    ['Server Error', 'no', 'normal', 'server error'],
    ['Request Error', 'unknown', 'normal', 'money unknown'],
    ['Process Error', 'no', 'low', 'process error, low for the customer'],
    ['Request Error', 'no', 'critical', 'request error, critical for the customer'],
    [null, null, 'high', 'question, high for the customer'],
  ] as const)('about a %s with money moved %s and severity %s shows: %s', (type, money_moved, severity, reason) => {
    expect(urgencyReason({ type, money_moved, severity })).toBe(reason);
  });

  test.each([
    [null, 'open', 'no response for 12 min'],
    ['2026-11-23T12:04:00.000Z', 'waiting', 'answered after 4 min'],
    [null, 'closed', 'not answered'],
  ] as const)('first answered at %s, with the status %s, shows: %s', (first_response_at, status, text) => {
    expect(responseText({ created_at: CREATED, first_response_at, status }, NOW)).toBe(text);
  });

  test('shows each side whose turn it is', () => {
    expect([statusOf('open', 'support'), statusOf('open', 'caller')]).toEqual(['open', 'with support']);
    expect([statusOf('waiting', 'support'), statusOf('waiting', 'caller')]).toEqual([
      'waiting for the caller',
      'waiting for you',
    ]);
    expect(statusOf('resolved', 'caller')).toBe('resolved');
  });

  test('counts as urgent, and as waiting if it has no response', () => {
    const urgent = { urgency: 'urgent', first_response_at: null } as const;
    const question = { urgency: 'low', first_response_at: CREATED } as const;
    const textOf = (...cases: Parameters<typeof openCasesText>[0]) => openCasesText(cases, false)?.text;
    expect(textOf()).toBeUndefined();
    expect(textOf(question)).toBe('case is open.');
    expect(textOf(urgent, urgent)).toBe('urgent cases are open, without a response.');
    expect(textOf(urgent, question)).toBe('cases are open, 1 of them urgent, 1 of them without a response.');
    expect(openCasesText([urgent], true)).toEqual({
      count: '1+',
      text: 'urgent case is open, 1 of them without a response.',
      isUrgent: true,
    });
    expect(openCasesText([question, question], false)).toMatchObject({ count: '2', isUrgent: false });
  });

  test('is described without quoting what people wrote', () => {
    const none = { operation: null, code: null, request_id: null, transfer_id: null };
    expect(subjectOf({ ...none, operation: 'create_transfer', code: 'card_lost' })).toBe(
      'create_transfer failed: card lost',
    );
    expect(subjectOf({ ...none, operation: 'get_card', code: 'unknown_get_card' })).toBe('get_card failed');
    expect(subjectOf({ ...none, operation: 'create_card', code: 'create_card_schema' })).toBe(
      'create_card failed: invalid request',
    );
    expect(subjectOf({ ...none, request_id: 'req_1', operation: 'create_card' })).toBe('A question about create_card');
    expect(subjectOf({ ...none, transfer_id: 'tr_1', operation: 'create_transfer' })).toBe(
      'A question about a transfer',
    );
    expect(subjectOf(none)).toBe('A question');
  });
});

const INCIDENT: IncidentRecord = {
  incident_id: 'inc_1',
  title: 'x',
  public_text: 'x',
  status: 'open',
  scope: 'all',
  program_id: null,
  operation: null,
  codes: [],
  outcome: null,
  resolution: null,
  started_at: CREATED,
  updated_at: CREATED,
  resolved_at: null,
};
const ERROR = { program_id: 'prog_1', operation: 'create_transfer', code: 'unknown_create_transfer' };

describe('an incident', () => {
  test.each([
    [{}, true],
    [{ status: 'resolved' }, false],
    [{ codes: ['card_lost'] }, false],
    [{ codes: ['card_lost', ERROR.code] }, true],
    [{ scope: 'program', program_id: 'prog_1' }, true],
    [{ scope: 'program', program_id: 'prog_2' }, false],
    [{ scope: 'operation', operation: 'create_transfer' }, true],
    [{ scope: 'operation', operation: 'create_card' }, false],
  ] as const)('with %j covers the error: %s', (changes, is) => {
    expect(covers({ ...INCIDENT, ...changes } as IncidentRecord, ERROR)).toBe(is);
  });

  test('does not cover an error without a program if the incident is about one program', () => {
    expect(covers({ ...INCIDENT, scope: 'program' }, { ...ERROR, program_id: null })).toBe(false);
  });

  test('about a stop is found when the stopped transfers are restarted', () => {
    const all = { ...INCIDENT, codes: ['service_disabled'] };
    const one = { ...all, scope: 'program', program_id: 'prog_1' } as const;
    const there = { ...all, title: 'All transfers at the connector bank are stopped' };
    const found = (program_id: string | null, connector_id: string | null = null) =>
      incidentsOfSwitch([all, one, INCIDENT, ...(connector_id === null ? [] : [there])], { program_id, connector_id });
    expect(found(null)).toEqual([all]);
    expect(found('prog_1')).toEqual([one]);
    expect(found('prog_2')).toEqual([]);
    expect(found(null, 'bank')).toEqual([there]);
    expect(found('prog_1', 'bank')).toEqual([]);
  });

  test('copies the reason for a stop, but only for operators', () => {
    const body = bodyOf(
      draftOfStop(
        { scope: 'transfer_type', type: 'load', program_id: 'prog_1', connector_id: null, since: CREATED },
        'Shop',
        'OPS-311',
      ),
    );
    expect(body).toMatchObject({
      title: 'Loads for Shop are stopped',
      internal_text: 'OPS-311',
      scope: 'program',
      started_at: CREATED,
    });
    expect(body.public_text).not.toContain('OPS-311');
    expect(
      bodyOf(
        draftOfStop({ scope: 'service', type: null, program_id: null, connector_id: null, since: CREATED }, '', ''),
      ),
    ).toEqual({
      title: 'All transfers are stopped',
      public_text: 'We have stopped all transfers for the time being. No money is lost.',
      scope: 'all',
      codes: ['service_disabled'],
      started_at: CREATED,
    });
  });

  test('says how often the code of a burst occurred, and lists each code once', () => {
    expect(burstText({ in_last_minute: 240, in_hour_before: 1 })).toBe(
      '240 times in the last minute, and 1 time in the hour before',
    );
    expect(burstText({ in_last_minute: 5, in_hour_before: 0 })).toContain('never in the hour before');
    expect(bodyOf({ ...EMPTY_DRAFT, codes: ' a, b a ' }).codes).toEqual(['a', 'b']);
  });
});
