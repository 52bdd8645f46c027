import { expect, test } from 'vitest';
import type { Refusal } from '../refusal.ts';
import type { SwitchSetting } from '../switch.ts';
import { examineSwitch } from './transfer-checks.ts';

const NOW = Date.parse('2026-01-31T09:00:00.000Z');
const SERVICE: SwitchSetting = {
  programId: null,
  transferType: null,
  connectorId: null,
  disabled: true,
  reason: 'maintenance',
  actor: 'operator',
  since: NOW - 1000,
  until: NOW + 60_000,
};
const PROGRAM: SwitchSetting = { ...SERVICE, programId: 'program_1', until: NOW + 600_000 };
const LOADS: SwitchSetting = { ...PROGRAM, transferType: 'load', until: null };

test.each<[name: string, switches: readonly SwitchSetting[], endsIn: number | undefined]>([
  ['the end of the only setting', [SERVICE], 60_000],
  ['the latest end, of a narrower setting', [SERVICE, PROGRAM], 600_000],
  ['the latest end, of a wider setting', [{ ...SERVICE, until: NOW + 900_000 }, PROGRAM], 900_000],
  ['no end if one of the settings has none', [SERVICE, PROGRAM, LOADS], undefined],
  ['not the end of a setting that has already ended', [{ ...SERVICE, until: NOW }, PROGRAM], 600_000],
  ['not the end of a setting for a different type', [SERVICE, { ...LOADS, transferType: 'unload' }], 60_000],
  [
    'the latest end, of a setting for the connector',
    [SERVICE, { ...SERVICE, connectorId: 'increase', until: NOW + 70_000 }],
    70_000,
  ],
  [
    'not the end of a setting for a different connector',
    [SERVICE, { ...SERVICE, connectorId: 'bank', until: null }],
    60_000,
  ],
])('service_disabled has %s', (_name, switches, endsIn) => {
  const finding = examineSwitch(
    { type: 'load', connectorId: 'increase' },
    { programId: 'program_1', switches, now: NOW },
  );
  const refusal = 'refusal' in finding ? finding.refusal : undefined;
  expect([refusal?.code, refusal?.details.endsIn]).toEqual(['service_disabled', endsIn]);
});

const AT_INCREASE: SwitchSetting = { ...SERVICE, connectorId: 'increase', reason: 'fraud' };
const OF_PROGRAM: SwitchSetting = { ...AT_INCREASE, programId: 'program_1' };

test.each<[switches: readonly SwitchSetting[], message: string | undefined]>([
  [[AT_INCREASE], "The service is disabled for the connector 'increase'."],
  [[OF_PROGRAM], "The service is disabled for the connector 'increase' in this card program."],
  [
    [{ ...AT_INCREASE, transferType: 'load' }],
    "The service is disabled for transfers of type 'load' at the connector 'increase'.",
  ],
  [
    [{ ...OF_PROGRAM, transferType: 'load' }],
    "The service is disabled for transfers of type 'load' at the connector 'increase' in this card program.",
  ],
  [[OF_PROGRAM, AT_INCREASE], "The service is disabled for the connector 'increase'."],
  [[AT_INCREASE, PROGRAM], 'The service is disabled for this card program.'],
  [[{ ...AT_INCREASE, connectorId: 'bank' }], undefined],
  [[{ ...AT_INCREASE, programId: 'other' }], undefined],
  [[{ ...AT_INCREASE, transferType: 'unload' }], undefined],
  [[{ ...AT_INCREASE, until: NOW }], undefined],
])('names the widest of the settings that apply to a load at a connector: %j', (switches, message) => {
  const finding = examineSwitch(
    { type: 'load', connectorId: 'increase' },
    { programId: 'program_1', switches, now: NOW },
  );
  expect('refusal' in finding ? finding.refusal.message : undefined).toBe(message);
  const elsewhere = examineSwitch({ type: 'load', connectorId: null }, { programId: 'program_1', switches, now: NOW });
  expect(elsewhere.outcome).toBe(switches.includes(PROGRAM) ? 'failed' : 'passed');
});

test('names the connector in the refusal and the checks', () => {
  const view = { programId: 'program_1', switches: [AT_INCREASE], now: NOW };
  const { refusal } = examineSwitch({ type: 'load', connectorId: 'increase' }, view) as { readonly refusal: Refusal };
  expect(refusal.details.saw).toEqual({
    disabled: true,
    scope: 'connector',
    connector_id: 'increase',
    reason: 'fraud',
    until: '2026-01-31T09:01:00.000Z',
  });
});
