import { useEffect, useState } from 'preact/hooks';
import { parseJson } from '../../sdk/generated/parse-json.ts';

/** How people get into the console, as the first page of the service reports it. It needs no session. */
export type Entrance = {
  /** The path where people sign in with the OpenID provider of their organization, if the service has one. */
  readonly path?: string | undefined;
  /** The name of that provider, or its host. */
  readonly provider?: string | undefined;
  /** The contact for people who cannot sign in. */
  readonly support?: string | undefined;
};

/** Reads how people can sign in. Returns an empty record if the service cannot be asked. */
export async function readEntrance(): Promise<Entrance> {
  try {
    const response = await fetch('/', { headers: { Accept: 'application/json' }, cache: 'no-store' });
    const root = parseJson(await response.text()) as {
      readonly support?: unknown;
      readonly sign_in?: { readonly provider?: unknown };
      readonly links?: { readonly sign_in?: unknown };
    };
    return {
      path: textOf(root.links?.sign_in),
      provider: textOf(root.sign_in?.provider),
      support: textOf(root.support),
    };
  } catch {
    return {};
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns how people can sign in. Empty until it is known. */
export function useEntrance(): Entrance {
  const [entrance, setEntrance] = useState<Entrance>({});
  useEffect(() => {
    let isShown = true;
    void readEntrance().then((found) => isShown && setEntrance(found));
    return () => {
      isShown = false;
    };
  }, []);
  return entrance;
}

/** Returns a link to sign in with the provider and come back to the open view. Undefined if there is no provider. */
export function linkOf({ path }: Entrance): string | undefined {
  const { pathname, search } = window.location;
  return path && `${path}?${new URLSearchParams({ return: pathname + search })}`;
}

/** Returns {@link linkOf} for this service. Undefined until it is known. */
export function useSignInLink(): string | undefined {
  return linkOf(useEntrance());
}
