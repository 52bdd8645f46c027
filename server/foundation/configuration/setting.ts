import type { Kind } from './values.ts';

/** The settings that influence the defaults of other settings. They come first in the table. */
export type Earlier = {
  readonly mode: 'sandbox' | 'live';
  readonly hosts: readonly string[];
  readonly errorRetentionDays: number;
};

export type Setting = {
  readonly name: string;
  readonly kind: Kind<unknown>;
  /** The default, described for people. An empty text if there is none. */
  readonly fallback: string;
  /** Returns the value if the setting is not set. If omitted, the text of the default is parsed like any other. */
  readonly unset?: (earlier: Earlier) => unknown;
  readonly purpose: string;
  /** Whether the value must not appear in any output or message. */
  readonly isSecret?: true;
  /** Whether the variable with `_FILE` after the name may name a file that contains the value. */
  readonly mayBeInFile?: true;
  /** Who may read it: only the service, or also the commands on its host. The types of the commands enforce this. */
  readonly readBy: 'service' | 'commands';
  /** Whether `start --help` also lists it. */
  readonly isInHelp?: true;
  /** Formats the value for `config`, if the result differs from the text that was set. */
  readonly show?: (value: never) => string;
};

/** Returns the name of the variable that names the file of a secret. */
export function fileSettingOf(name: string): string {
  return `${name}_FILE`;
}
