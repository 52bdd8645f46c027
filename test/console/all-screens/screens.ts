import { ROUTES, type Route } from '../../../console/app/routes.ts';
import type { World } from '../harness/sample-world.ts';

/** Every screen of the console: the tests of this folder look at each, so a new one is tested without a line here. */
export const SCREENS: readonly Route[] = ROUTES;

/** The address of a screen with something to show. */
export function addressOf({ path }: Pick<Route, 'path'>, world: World): string {
  const values: Readonly<Record<string, string>> = world;
  const filled = path.replaceAll(/:([a-z_]+)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the world of the tests has no ${name} for ${path}`);
    return encodeURIComponent(value);
  });
  return `${filled}?program=${world.program_id}`;
}
