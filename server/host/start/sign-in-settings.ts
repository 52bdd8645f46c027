import type { CommandConfiguration } from '../../foundation/configuration/configuration.ts';
import type { SignInSettings } from '../../sign-in/sign-in.ts';

/** Returns the settings of sign-in, or undefined without OIDC_ISSUER. The configuration has checked that none is missing. */
export function signInSettings(configuration: CommandConfiguration): SignInSettings | undefined {
  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcRoles, publicUrl } = configuration;
  if (oidcIssuer === null || oidcClientId === null || oidcClientSecret === null) return undefined;
  if (oidcRoles === null || publicUrl === null) return undefined;
  return {
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret: oidcClientSecret,
    scopes: configuration.oidcScopes,
    roleClaim: configuration.oidcRoleClaim,
    roles: oidcRoles,
    publicUrl,
    allowedNetworks: configuration.webhookAllowedNetworks,
    ca: configuration.webhookCa?.certificates ?? null,
  };
}
