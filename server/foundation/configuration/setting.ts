import type { Kind } from './values.ts';

/** The settings that defaults depend on. In the table, they come before their dependents. */
export type Earlier = {
  readonly mode: 'sandbox' | 'live';
  readonly hosts: readonly string[];
  readonly errorRetentionDays: number;
};

export type Setting = {
  readonly name: string;
  readonly kind: Kind<unknown>;
  /** The default as people read it, or an empty text if there is none. */
  readonly fallback: string;
  /** The value if it is not set. If omitted, the default is parsed like a set value. */
  readonly unset?: (earlier: Earlier) => unknown;
  readonly purpose: string;
  /** Whether it must stay out of every output and message. */
  readonly isSecret?: true;
  /** Whether the variable with `_FILE` after the name may name a file with it. */
  readonly mayBeInFile?: true;
  /** Its users: the service only, or also the commands on its host. The types of the commands enforce this. */
  readonly readBy: 'service' | 'commands';
  /** Whether `start --help` lists it too. */
  readonly isInHelp?: true;
  /** Formats it for `config`, if that differs from the set text. */
  readonly show?: (value: never) => string;
};

/** The variable that names the file of a secret. */
export function fileSettingOf(name: string): string {
  return `${name}_FILE`;
}
