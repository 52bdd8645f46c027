import type { Kind } from './values.ts';

/** What defaults depend on. In the table, these settings come before those that depend on them. */
export type Earlier = {
  readonly mode: 'sandbox' | 'live';
  readonly hosts: readonly string[];
  readonly errorRetentionDays: number;
};

/** One row of the table. */
export type Setting = {
  /** The variable of the environment. */
  readonly name: string;
  /** What it may be, with the unit, and how to parse it. */
  readonly kind: Kind<unknown>;
  /** The default as people read it; empty if there is none. */
  readonly fallback: string;
  /** The value if it is not set. Without it, the default is parsed like a value that is set. */
  readonly unset?: (earlier: Earlier) => unknown;
  readonly purpose: string;
  /** Whether no output and no message may contain it. */
  readonly isSecret?: true;
  /** Whether the variable with `_FILE` after the name may name a file with it. */
  readonly mayBeInFile?: true;
  /** Who uses it: the service only, or also the commands on its host. The types of the commands keep them to that. */
  readonly readBy: 'service' | 'commands';
  /** Whether `start --help` lists it too. */
  readonly isInHelp?: true;
  /** How `config` shows it, if not as it is set. */
  readonly show?: (value: never) => string;
};

/** The variable that names the file of a secret. */
export function fileSettingOf(name: string): string {
  return `${name}_FILE`;
}
