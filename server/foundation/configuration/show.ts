import { withoutUrlCredentials } from '../url-credentials.ts';
import type { Configuration } from './configuration.ts';
import { fileSettingOf, type Setting } from './setting.ts';
import { SETTINGS } from './settings.ts';

/** The settings in force, one `NAME=value` a line, without secrets. */
export function showConfiguration(configuration: Configuration): string {
  const values: Readonly<Record<string, unknown>> = configuration;
  return Object.entries<Setting>(SETTINGS)
    .flatMap(([field, setting]) => {
      const line = `${setting.name}=${shown(setting, values[field])}`;
      return setting.mayBeInFile ? [line, `${fileSettingOf(setting.name)}=${asSet(values[`${field}File`])}`] : [line];
    })
    .join('\n');
}

function shown({ isSecret, show }: Setting, value: unknown): string {
  if (show !== undefined) return show(value as never);
  return isSecret ? hidden(value) : asSet(value);
}

function hidden(value: unknown): string {
  return value === null ? '' : '(set)';
}

function asSet(value: unknown): string {
  return value === null ? '' : withoutUrlCredentials(String(value));
}
