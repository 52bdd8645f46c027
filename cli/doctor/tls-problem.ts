/** What is wrong with TLS, and what to do; undefined if the error is not of TLS. */
export function tlsProblem(error: unknown, host: string): string | undefined {
  const code = codeOf(error) ?? '';
  if (code === 'CERT_HAS_EXPIRED') return 'The certificate has expired. Renew it.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `The certificate is not for ${host}. Use the name in it as URL.`;
  if (/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code)) {
    return (
      `The certificate is not from an authority that Node knows (${code}). ` +
      'If it is from one of your own, set NODE_EXTRA_CA_CERTS to its file.'
    );
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH/.test(code)) {
    return 'What listens there does not speak TLS. Begin the URL with http://, or use the port of the proxy with TLS.';
  }
  return undefined;
}

/** The code of an error, of its cause, or of the first error that it joins. */
export function codeOf(error: unknown): string | undefined {
  const { code, errors, cause } = Object(error) as {
    readonly code?: unknown;
    readonly errors?: readonly unknown[];
    readonly cause?: unknown;
  };
  if (typeof code === 'string') return code;
  const inner = cause ?? errors?.[0];
  return inner === undefined || inner === null ? undefined : codeOf(inner);
}
