import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type RoleRule, readRoleRules } from '../../../domain/people/access.ts';
import { type OperatorLimits, readOperatorLimits } from '../../../domain/people/operator-limits.ts';
import { findNetworkProblem } from '../networks.ts';
import { codeOf } from '../startup-problem.ts';

export type Kind<Value> = {
  /** The allowed values, with the unit, worded to follow "must be" in a message. Also used in docs/configuration.md. */
  readonly allowed: string;
  /**
   * Returns the value for a string that is not empty. Undefined if the string is not allowed. To give a more specific reason,
   * throws the error that `refuse` creates from a clause.
   */
  readonly parse: (text: string, refuse: (problem: string) => Error, around: Surroundings) => Value | undefined;
};

export type Surroundings = {
  readonly mode: 'sandbox' | 'live';
  /**
   * Returns the value of a variable that this setting names, or the content of the file that the variable with `_FILE` names. Empty
   * if both are unset.
   */
  readonly readVariable: (name: string) => string;
};

export const TEXT: Kind<string> = { allowed: 'text', parse: (text) => text };

export const DIRECTORY: Kind<string> = { allowed: 'a directory', parse: (text) => resolve(text) };

export function oneOf<const Word extends string>(...words: readonly Word[]): Kind<Word> {
  return { allowed: `one of: ${words.join(', ')}`, parse: (text) => words.find((word) => word === text) };
}

type Range = {
  readonly min: number;
  readonly max: number;
  /** The meaning of 0, if 0 has a special meaning. */
  readonly zero?: string;
};

export function numberOf(unit: string, { min, max, zero }: Range): Kind<number> {
  return {
    allowed: `a number of ${unit} from ${min} to ${max}${zero === undefined ? '' : `, or 0 ${zero}`}`,
    parse: (text) => wholeNumber(text, zero === undefined ? min : 0, max),
  };
}

function wholeNumber(text: string, min: number, max: number): number | undefined {
  const number = /^[0-9]{1,9}$/.test(text) && text.length <= String(max).length ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

export const PORT: Kind<number> = {
  allowed: 'a number from 0 to 65535',
  parse: (text) => wholeNumber(text, 0, 65_535),
};

/** A share, from 0 to 1. */
export const SHARE: Kind<number> = {
  allowed: 'a number from 0 to 1, such as 0.01',
  parse: (text) => {
    const share = /^(?:[0-9]{1,9}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})$/.test(text) ? Number(text) : Number.NaN;
    return share <= 1 ? share : undefined;
  },
};

export const ADDRESS: Kind<string> = {
  allowed: 'an address such as 127.0.0.1 or a host name',
  parse: (text) => {
    const host = text.replace(/^\[(.*)\]$/, '$1');
    return isIP(host) !== 0 || /^[a-zA-Z0-9.-]+$/.test(host) ? host : undefined;
  },
};

/** A single address or host name to listen on. The value is a list with this one entry. */
export const ADDRESSES: Kind<readonly string[]> = {
  allowed: ADDRESS.allowed,
  parse: (text, refuse, around) => {
    const host = ADDRESS.parse(text, refuse, around);
    return host === undefined ? undefined : [host];
  },
};

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** The origin of a URL. A path is refused, because it would be ignored: the service needs a separate host. */
export const ORIGIN: Kind<string> = {
  allowed: 'a URL of a scheme and a host only, such as https://transfers.example.com',
  parse: (text) => {
    const url = URL.parse(text);
    // If the URL has a path, a query or a fragment, even an empty one, it differs from its origin.
    return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` ? url.origin : undefined;
  },
};

/** The URL is kept unchanged, because the same URL with a slash at the end is a different issuer. */
export const ISSUER: Kind<string> = {
  allowed:
    'the https:// URL of a provider, exactly as its discovery document spells it, such as https://login.example.com/realms/cards',
  parse: (text, refuse) => {
    const url = URL.parse(text);
    const isPlain = url !== null && !/[?#\\\s]/.test(text) && url.username === '' && url.password === '';
    if (!isPlain || !/^https?:\/\/[^/]/.test(text) || url.port === '0') return undefined;
    if (/\/\.well-known\//.test(text)) throw refuse('it must be the URL before /.well-known/');
    if (url.protocol === 'https:' || isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'))) return text;
    throw refuse('it must begin with https://: only a provider on this machine may be called without TLS');
  },
};

/** Longer names don't fit on the button of the sign-in screen on a phone. */
const MAX_PROVIDER_NAME_CHARACTERS = 40;

/** The name of a provider, as people read it on a button. */
export const PROVIDER_NAME: Kind<string> = {
  allowed: `a name such as Acme SSO, in one line of at most ${MAX_PROVIDER_NAME_CHARACTERS} characters`,
  parse: (text, refuse) => {
    if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)) throw refuse('it contains an invisible character');
    const { length } = [...text];
    if (length > MAX_PROVIDER_NAME_CHARACTERS) {
      throw refuse(`it has ${length} characters, and the maximum is ${MAX_PROVIDER_NAME_CHARACTERS}`);
    }
    return text;
  },
};

/** Scopes, separated by spaces. */
export const SCOPES: Kind<string> = {
  allowed: 'scopes with spaces between them, among them openid',
  parse: (text) => {
    const scopes = text.split(/ +/);
    const isValid = scopes.every((scope) => /^[!#-[\]-~]+$/.test(scope)) && scopes.includes('openid');
    return isValid ? scopes.join(' ') : undefined;
  },
};

export const ROLE_RULES: Kind<readonly RoleRule[]> = {
  allowed:
    'entries such as card-support=support, lumen-staff=viewer@prog_0196f5c2d9a37d11b6e4f2a90c8d5e72, separated by commas',
  parse: (text, refuse) => {
    const rules = readRoleRules(text);
    if (typeof rules === 'string') throw refuse(asClause(rules));
    return rules;
  },
};

export const OPERATOR_LIMITS: Kind<OperatorLimits> = {
  allowed: 'currencies with amounts such as USD 50000.00, JPY 4000000, separated by commas',
  parse: (text, refuse) => {
    const limits = readOperatorLimits(text);
    if (typeof limits === 'string') throw refuse(asClause(limits));
    return limits;
  },
};

/** Turns a sentence into a clause that can end another sentence. */
function asClause(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

export const COLLECTOR_URL: Kind<string> = {
  allowed: 'an http:// or https:// URL without a query, such as http://127.0.0.1:4318',
  parse: (text) => {
    const url = URL.parse(text);
    const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
    return isPlain ? text : undefined;
  },
};

/** Headers, in the format of the OpenTelemetry specification. */
export const HEADERS: Kind<Readonly<Record<string, string>>> = {
  allowed: 'names and percent-encoded values such as authorization=Bearer%20abc, separated by commas',
  parse: (text) => {
    const headers = text
      .split(',')
      .filter((pair) => pair.trim() !== '')
      .map((pair) => {
        const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*([!-~ \t]*?)\s*$/.exec(pair) ?? [];
        return [name?.toLowerCase(), decode(value)] as const;
      });
    const isValid = headers.every(([name, value]) => name !== undefined && value !== undefined);
    return isValid ? Object.fromEntries(headers) : undefined;
  },
};

function decode(value: string | undefined): string | undefined {
  try {
    const decoded = decodeURIComponent(value ?? '%');
    // A character that no header may contain would make every request fail.
    return /^[\t -~]*$/.test(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

export const NETWORKS: Kind<readonly string[]> = {
  allowed: 'addresses and networks such as 10.1.0.0/16, 192.168.7.9, separated by commas',
  parse: (text, refuse) => {
    const networks = text.split(',').map((network) => network.trim());
    for (const network of networks) {
      const problem = findNetworkProblem(network);
      if (problem !== undefined)
        throw refuse(`${quoted(network)} ${problem}. Separate addresses and networks with commas`);
    }
    return networks;
  },
};

export type Certificates = { readonly path: string; readonly certificates: string };

export const CERTIFICATES: Kind<Certificates> = {
  allowed: 'a file of certificates in PEM format',
  parse: (text, refuse) => {
    const path = resolve(text);
    let content: string;
    try {
      content = readFileSync(path, 'utf8');
    } catch (error) {
      throw refuse(`that file cannot be read: ${codeOf(error) ?? String(error)}`);
    }
    const blocks = content.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
    if (blocks.length > 0 && blocks.every(isCertificate)) return { path, certificates: blocks.join('\n') };
    throw refuse('that file does not contain valid certificates in PEM format');
  },
};

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** One key, or the current key and the previous one. */
export const WEBHOOK_KEYS: Kind<readonly Buffer[]> = {
  allowed: '32 bytes in Base64, as "openssl rand -base64 32" prints them, or two such keys with a comma between them',
  parse: (text) => {
    const keys = text.split(',').map((key) => key.trim());
    const isValid = keys.length <= 2 && keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key));
    return isValid ? keys.map((key) => Buffer.from(key, 'base64')) : undefined;
  },
};

/** `requireSafeConnection` of open-database.ts checks whether the connection is safe. */
export const DATABASE_URL: Kind<string> = {
  allowed: 'a URL that begins with postgresql://, such as postgresql://localhost:5432/ledger',
  parse: (text) => (/^postgres(ql)?:\/\//.test(text) ? text : undefined),
};

/**
 * A schema name that needs no quotes in SQL. A quoted name with capitals would differ from the name that people create without
 * quotes. PostgreSQL reserves `pg_` and `information_schema`.
 */
export const SCHEMA: Kind<string> = {
  allowed:
    '1 to 63 lower-case letters, digits and underscores. It must not begin with a digit or with pg_, and ' +
    'information_schema is reserved',
  parse: (text) => {
    const isPlain = /^[a-z_][a-z0-9_]{0,62}$/.test(text);
    return isPlain && !text.startsWith('pg_') && text !== 'information_schema' ? text : undefined;
  },
};

/** A value for a message. A value that could contain a URL with a password is not shown. */
export function quoted(value: string): string {
  return /^[^@]{0,80}$/.test(value) && !value.includes('://') ? `'${value}'` : 'set to a value that is not shown here';
}
