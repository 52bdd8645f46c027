import { parseArgs } from 'node:util';
import type { Campaign, Scale } from './campaign.ts';
import { CAMPAIGNS, OTHER_CAMPAIGNS } from './campaigns.ts';

/** The campaigns to run, and their settings. */
export type Options = {
  readonly campaigns: readonly Campaign[];
  readonly seed: number;
  readonly scale: Scale;
  /** Overrides the count of the scale. */
  readonly count: number | undefined;
  readonly out: string | undefined;
  /** Whether to run the negative control: the campaigns must find lost transfers. */
  readonly control: boolean;
};

const listOf = (lines: readonly (readonly [string, string])[]): string =>
  lines.map(([name, text]) => `  ${name.padEnd(20)} ${text}`).join('\n');

const CONTROLLED = CAMPAIGNS.filter(({ control }) => control !== undefined);

export const USAGE = `npm run campaigns -- [options]

  --only NAME,…      run only these campaigns
  --seed N           repeat the random choices of an earlier run; by default a new seed, which is printed
  --scale SCALE      small, medium or large (large)
  --count N          number of kills, cuts, reads and so on, instead of the scale's number
  --out FILE         write the figures to this JSON file (data/campaigns/<time>.json)
  --control          negative control: runs against a mutant of the service, or with asynchronous replication, and must
                     find violations (kills)

The campaigns, and what each proves:

${listOf(CAMPAIGNS.map(({ name, proves }) => [name, proves]))}

The campaigns with a negative control:

${listOf(CONTROLLED.map(({ name, control = '' }) => [name, control]))}

Other campaigns, and their commands:

${listOf(OTHER_CAMPAIGNS.map(({ name, command }) => [name, command]))}

Exit code: 0 if every promise was kept, 1 if one was broken, 3 if --control found nothing about money, 4 if a campaign could
not run on this machine.`;

/** An invalid command line. The message gives the reason. */
export class UsageProblem extends Error {}

const SCALES = ['small', 'medium', 'large'] as const;

/** Reads the command line. Returns undefined for `--help`. Throws {@link UsageProblem}. */
export function readOptions(words: readonly string[]): Options | undefined {
  const values = parse(words);
  if (values.help === true) return undefined;
  const control = values.control === true;
  const only = values.only ?? (control ? 'kills' : undefined);
  const scale = SCALES.find((name) => name === (values.scale ?? (control ? 'small' : 'large')));
  if (scale === undefined)
    throw new UsageProblem(`--scale is '${values.scale}', but must be one of ${SCALES.join(', ')}.`);
  const campaigns = only === undefined ? CAMPAIGNS : only.split(',').map((name) => findCampaign(name.trim()));
  const lacking = control ? campaigns.filter((campaign) => !CONTROLLED.includes(campaign)) : [];
  if (lacking.length > 0)
    throw new UsageProblem(
      `--control: these campaigns have no negative control: ${lacking.map(({ name }) => name).join(', ')}.`,
    );
  return {
    campaigns,
    seed: readNumber('--seed', values.seed) ?? Math.floor(Math.random() * 1_000_000_000),
    scale,
    count: readNumber('--count', values.count),
    out: values.out,
    control,
  };
}

function parse(words: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { only: text, seed: text, scale: text, count: text, out: text, control: flag, help: flag };
  try {
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new UsageProblem(error instanceof Error ? error.message : String(error));
  }
}

function findCampaign(name: string): Campaign {
  const campaign = CAMPAIGNS.find((candidate) => candidate.name === name);
  if (campaign === undefined) throw new UsageProblem(`--only names the unknown campaign '${name}'.`);
  return campaign;
}

function readNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new UsageProblem(`${option} is '${text}', but it must be a whole number from 1 to 999999999.`);
}
