import { hrefTo, useLocation, workedCase } from '../data/location.ts';
import { pathOf, shortId } from '../format/ids.ts';

/** Says on the screens that support comes to from a case that what is done there is noted with it. */
export function CaseBanner() {
  const { path, query } = useLocation();
  const caseId = workedCase(query);
  if (caseId === undefined) return null;
  const caseHref = hrefTo(pathOf(caseId) ?? '');
  if (caseHref.startsWith(path)) return null;
  const without = new URLSearchParams(query);
  without.delete('case');
  return (
    <div class="banner case">
      <p>
        You work on <a href={caseHref}>the case {shortId(caseId)}</a>: the audit log names it in each of your actions.{' '}
        <a href={without.size === 0 ? path : `${path}?${without}`}>Leave the case</a>
      </p>
    </div>
  );
}
