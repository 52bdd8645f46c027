/**
 * What the API reference adds to the stylesheet of the pages. The contents are beside the text where there is room, and a
 * list to open where there is not; browsers that cannot show a closed list keep it to open everywhere. Where the browser
 * knows which target of the contents is in view, it marks it (`:target-current`); elsewhere the script of the page does.
 */
export const REFERENCE_STYLE = `
body:has(.docs) .wide { max-width: 76rem; }
.docs { display: grid; grid-template-columns: minmax(0, 1fr); }
.docs .side { display: block; position: static; max-height: none; padding: 1.25rem 0 0; }
.docs .side section, .docs .side nav > p { margin: 0 0 0.9rem; }
.docs .side section p { margin: 0 0 0.2rem; }
.docs .side li { padding: 0; }
.docs .side li a { overflow-wrap: anywhere; }
.docs .side p a { display: inline; border: 0; padding: 0; color: inherit; }
.docs .menu nav { scroll-target-group: auto; }
.docs .menu a:target-current, .docs .menu a[aria-current] { color: var(--ink); border-left-color: var(--link); font-weight: 600; }
.docs .menu p a:target-current { color: var(--link); }
.docs label { font-weight: 600; }
.filter { display: flex; gap: 0.4rem; margin: 0.3rem 0 0.75rem; }
.filter input {
  flex: 1; min-width: 0; font: inherit; color: inherit; background: var(--raised);
  border: 1px solid var(--quiet); border-radius: 8px; padding: 0.4rem 0.6rem;
}
.filter button {
  font: inherit; font-weight: 600; color: var(--ground); background: var(--link);
  border: 1px solid transparent; border-radius: 8px; padding: 0.4rem 0.7rem; cursor: pointer;
}
.menu > summary { padding: 0.5rem 0; }
.index { list-style: none; margin: 0; padding: 0; font-size: 0.92rem; }
.index li { display: grid; grid-template-columns: 4.2rem minmax(0, 1.15fr) minmax(0, 1fr); gap: 0 1rem; padding: 0.35rem 0; border-bottom: 1px solid var(--line); max-width: none; line-height: 1.4; }
.index b, .index a { font-family: var(--mono); font-size: 0.92em; }
.index b { font-weight: 600; color: var(--quiet); }
.index a { text-decoration: none; overflow-wrap: anywhere; }
.index a:hover { text-decoration: underline; }
@media (min-width: 60rem) {
  .docs { grid-template-columns: 15rem minmax(0, 1fr); gap: 0 2.75rem; align-items: start; }
  .docs .side { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.75rem 0.5rem 1.5rem 0.25rem; }
  @supports selector(::details-content) {
    .menu > summary { display: none; }
    .menu::details-content { content-visibility: visible; display: block; }
  }
}
@media (max-width: 40rem) { .index li { grid-template-columns: 4.2rem minmax(0, 1fr); } .index span { grid-column: 2; color: var(--quiet); } }
@media print { .docs .side { display: none; } }
`;
