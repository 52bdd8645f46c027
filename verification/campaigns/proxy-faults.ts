import type { Stage } from '../../test/faults/stage.ts';
import type { TrapPlace } from '../../test/harness/proxy.ts';
import { type Findings, pause, type Setting } from '../campaign.ts';
import { attackWire } from '../environments/processes/ledgers.ts';
import { untilServing } from '../generators/load.ts';

const FAULTS_PER_LEDGER = 100;

/** The longest recovery after the fault ends, in milliseconds. */
const MAX_RECOVERY = 10_000;

const PLACES: readonly TrapPlace[] = ['during_load', 'before_early', 'before_commit', 'after_commit'];

/** A kind of network fault. `inject` resolves at the end of the fault. */
type Fault = { readonly name: string; readonly inject: (stage: Stage, random: () => number) => Promise<void> };

const FAULTS: readonly Fault[] = [
  {
    name: 'latency',
    inject: async ({ proxy }, random) => {
      proxy.delayBy(5 + random() * 400);
      await pause(300 + random() * 900);
      proxy.delayBy(0);
    },
  },
  {
    name: 'reset',
    inject: async ({ proxy }, random) => {
      for (let cut = 0; cut < 1 + random() * 5; cut += 1) {
        proxy.cutAll();
        await pause(random() * 80);
      }
    },
  },
  {
    name: 'refused',
    inject: async ({ proxy }, random) => {
      await proxy.listen(false);
      proxy.cutAll();
      await pause(random() * 800);
      await proxy.listen(true);
    },
  },
  {
    // Cuts the connection afterwards, because it has lost bytes.
    name: 'black_hole',
    inject: async ({ proxy }, random) => {
      proxy.mute(true);
      await pause(200 + random() * (random() < 0.2 ? 5_000 : 800));
      proxy.mute(false);
      proxy.cutAll();
    },
  },
  {
    name: 'slices',
    inject: async ({ proxy }, random) => {
      proxy.slice(true);
      await pause(200 + random() * 600);
      proxy.slice(false);
    },
  },
  {
    // The server receives everything and responds, but the responses are dropped.
    name: 'half_open',
    inject: async ({ proxy }, random) => {
      for (let trap = 0; trap < 1 + random() * 3; trap += 1) {
        const at = PLACES[Math.floor(random() * PLACES.length)] ?? 'after_commit';
        proxy.traps.push({ at, spring: () => 'swallow' });
      }
      await pause(200 + random() * 600);
      proxy.traps.length = 0;
    },
  },
];

/** Causes one fault at a time, and waits for recovery after each. */
export function run(setting: Setting): Promise<Findings> {
  return attackWire(setting, {
    perLedger: FAULTS_PER_LEDGER,
    run: async (stage, { done, attacks }, tally, random) => {
      for (let at = 1; at <= attacks; at += 1) {
        const fault = FAULTS[Math.floor(random() * FAULTS.length)];
        if (fault === undefined) continue;
        tally.add(`in_flight_${stage.proxy.open()}`);
        await fault.inject(stage, random);
        tally.add(fault.name);
        const healing = await untilServing(stage.service().url);
        tally.time('healing', healing);
        if (healing > MAX_RECOVERY) tally.violate(`fault ${done + at}`, [`${fault.name}: ${healing} ms`]);
        await pause(random() * 150);
        setting.progress(done + at, `${tally.count('violations')} violations`);
      }
    },
  });
}
