import { useEffect, useState } from 'preact/hooks';
import { parseJson } from '../../sdk/generated/parse-json.ts';

/**
 * Returns the path where people sign in with the OpenID provider of their organization, or undefined if the service has none or
 * cannot be asked. The first page of the service reports it, because it needs no session.
 */
export async function readSignInPath(): Promise<string | undefined> {
  try {
    const response = await fetch('/', { headers: { Accept: 'application/json' }, cache: 'no-store' });
    const { links } = parseJson(await response.text()) as { readonly links?: { readonly sign_in?: unknown } };
    return typeof links?.sign_in === 'string' ? links.sign_in : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns a link to sign in with the provider and come back to the open view. Undefined until it is known, or if the service has
 * no provider.
 */
export function useSignInLink(): string | undefined {
  const [path, setPath] = useState<string | undefined>(undefined);
  useEffect(() => {
    let isShown = true;
    void readSignInPath().then((found) => isShown && setPath(found));
    return () => {
      isShown = false;
    };
  }, []);
  const { pathname, search } = window.location;
  return path && `${path}?${new URLSearchParams({ return: pathname + search })}`;
}
