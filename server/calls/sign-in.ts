import type { Access } from '../../domain/people/access.ts';

/** How long a person may take at the provider, in seconds. */
export const LOGIN_SECONDS = 600;

/** The data that a browser must bring back from the provider. It is kept in a cookie for a few minutes. */
export type LoginState = {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** The path of the console to open after the sign-in. */
  readonly returnPath: string;
  /** The wire id of the card program that the person chose, or null. */
  readonly program: string | null;
  /** Whether the person must authenticate again at the provider, even if they are signed in there. */
  readonly isFresh: boolean;
  /** When the sign-in began, in milliseconds since 1970. */
  readonly begunAt: number;
};

/** The options that a person chose for the sign-in. */
export type LoginWish = Pick<LoginState, 'returnPath' | 'program' | 'isFresh'>;

/** The result of a sign-in at the provider: a session, or the card programs (wire ids) that the person can choose from. */
export type SignInOutcome =
  | { readonly kind: 'signed_in'; readonly token: string }
  | {
      readonly kind: 'choice';
      readonly programs: readonly { readonly programId: string; readonly name: string | null }[];
    };

/**
 * Returns when the response is due, counted from this call. It is called only after the provider has answered, so that the
 * provider's time does not count.
 */
export type NewDeadline = () => number;

/** Sign-in with the configured OpenID provider. http serves its routes. */
export type SignIn = {
  /** The host of the provider, so that people recognize the provider. */
  readonly provider: string;
  /** Returns the URL of the provider for the browser to open. Throws a Refusal `provider_unavailable`. */
  readonly begin: (wish: LoginWish) => Promise<{ readonly url: string; readonly login: LoginState }>;
  /** Completes a sign-in with the parameters of the callback. Throws a Refusal if a check fails. */
  readonly finish: (
    parameters: URLSearchParams,
    login: LoginState | undefined,
    newDeadline: NewDeadline,
  ) => Promise<SignInOutcome>;
  /** Returns the URL where the person signs out at the provider. Undefined if the provider has none or is down. */
  readonly signOutUrl: () => Promise<string | undefined>;
  /** Ends the sessions that a logout token names. Throws a Refusal `logout_token_refused`. */
  readonly logOut: (logoutToken: string, newDeadline: NewDeadline) => Promise<number>;
};

/** A person as the provider describes them, with the permissions that the settings grant. */
export type SignedInPerson = {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly email: string | null;
  readonly roles: readonly Access[];
  /** Inner UUID of the card program. Null for all card programs. */
  readonly programId: string | null;
  readonly scopes: readonly string[];
  /** When the person authenticated at the provider. */
  readonly signedInAt: Date;
  /** The provider's id of its session (`sid`), or null. */
  readonly providerSession: string | null;
};

/** The sessions that a provider ends: the sessions that began with one session of the provider, or all sessions of a person. */
export type EndedByProvider = {
  readonly issuer: string;
  readonly subject?: string;
  readonly providerSession?: string;
};

/** The store of people and their sessions. */
export type PersonSessions = {
  /** Throws a Refusal `person_blocked`. */
  readonly signInPerson: (deadline: number, person: SignedInPerson) => Promise<{ readonly token: string }>;
  readonly endProviderSessions: (deadline: number, ended: EndedByProvider) => Promise<number>;
  /** Returns the name of a card program (inner UUID), or null. */
  readonly programName: (programId: string) => Promise<string | null>;
};
