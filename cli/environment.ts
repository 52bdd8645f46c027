import { wantsColor } from './paint.ts';

export type Environment = {
  readonly url: string;
  /** The variable that the URL comes from, or undefined if it is the default. */
  readonly urlFrom?: 'TRANSFER_SERVICE_URL' | 'PORT' | undefined;
  readonly key: string | undefined;
  readonly program: string | undefined;
  readonly webhookSecret: string | undefined;
  readonly isRunByNpm: boolean;
  /** The command that starts the command line: `transfer-service` or `npx transfer-service`. */
  readonly command?: string;
  /** Returns the value of a variable that an option names, such as one with a secret. */
  readonly variable?: (name: string) => string | undefined;
};

/** Reads TRANSFER_SERVICE_URL, _KEY, _PROGRAM and _WEBHOOK_SECRET. An empty variable counts as unset. */
export function readEnvironment(): Environment {
  const read = (name: string): string | undefined => process.env[name] || undefined;
  const named = read('TRANSFER_SERVICE_URL');
  const port = read('PORT');
  return {
    // PORT sets the port of a service started in this shell, so the default URL uses it too.
    url: named ?? `http://127.0.0.1:${port ?? '8080'}`,
    urlFrom: named !== undefined ? 'TRANSFER_SERVICE_URL' : port !== undefined ? 'PORT' : undefined,
    key: read('TRANSFER_SERVICE_KEY'),
    program: read('TRANSFER_SERVICE_PROGRAM'),
    webhookSecret: read('TRANSFER_SERVICE_WEBHOOK_SECRET'),
    isRunByNpm: read('npm_lifecycle_event') !== undefined,
    command: process.env.npm_command === 'exec' ? 'npx transfer-service' : 'transfer-service',
    variable: read,
  };
}

/** Whether standard output and standard error use colors. */
export function readColors(): { readonly output: boolean; readonly errors: boolean } {
  return {
    output: wantsColor(process.stdout.isTTY === true, process.env),
    errors: wantsColor(process.stderr.isTTY === true, process.env),
  };
}
