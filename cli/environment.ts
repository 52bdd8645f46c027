/** Settings from the environment; an option of the command line takes precedence. */
export type Environment = {
  readonly url: string;
  readonly key: string | undefined;
  readonly program: string | undefined;
  readonly webhookSecret: string | undefined;
};

/** Reads TRANSFER_SERVICE_URL, _KEY, _PROGRAM and _WEBHOOK_SECRET. An empty variable counts as unset. */
export function readEnvironment(): Environment {
  const read = (name: string): string | undefined => process.env[name] || undefined;
  return {
    // PORT also sets the port of the service.
    url: read('TRANSFER_SERVICE_URL') ?? `http://127.0.0.1:${read('PORT') ?? '8080'}`,
    key: read('TRANSFER_SERVICE_KEY'),
    program: read('TRANSFER_SERVICE_PROGRAM'),
    webhookSecret: read('TRANSFER_SERVICE_WEBHOOK_SECRET'),
  };
}
