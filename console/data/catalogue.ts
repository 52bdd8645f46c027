import { parseJson } from '../../sdk/generated/parse-json.ts';

/** An entry of the catalogue of error codes, as the service publishes it for everybody. */
export type CatalogueEntry = {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly meaning: string;
  readonly causes: readonly string[];
  readonly resolution: string;
  readonly resolver: string;
  readonly retry: boolean;
};

/** Reads the entry of a code; undefined for a code that this version of the service does not have. */
export async function readCatalogueEntry(
  code: string,
  signal: AbortSignal | undefined,
): Promise<CatalogueEntry | undefined> {
  const response = await fetch(`/errors/${encodeURIComponent(code)}.json`, signal === undefined ? {} : { signal });
  return response.ok ? (parseJson(await response.text()) as CatalogueEntry) : undefined;
}
