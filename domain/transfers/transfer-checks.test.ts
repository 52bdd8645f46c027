import { expect, test } from 'vitest';
import type { SwitchSetting } from '../switch.ts';
import { examineSwitch } from './transfer-checks.ts';

const NOW = Date.parse('2026-01-31T09:00:00.000Z');
const SERVICE: SwitchSetting = {
  programId: null,
  transferType: null,
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
  ['no end of a setting that is over', [{ ...SERVICE, until: NOW }, PROGRAM], 600_000],
  ['no end of a setting of another type', [SERVICE, { ...LOADS, transferType: 'unload' }], 60_000],
])('service_disabled says when it ends: %s', (_name, switches, endsIn) => {
  const finding = examineSwitch({ type: 'load' }, { programId: 'program_1', switches, now: NOW });
  const refusal = 'refusal' in finding ? finding.refusal : undefined;
  expect([refusal?.code, refusal?.details.endsIn]).toEqual(['service_disabled', endsIn]);
});
