/**
 * The part of the stylesheet of the pages that is for the API reference. On wide screens the contents are beside the text,
 * on narrow ones in a collapsed list; browsers without `::details-content` collapse it on all screens.
 */
export const REFERENCE_STYLE = `
body:has(.docs) .wide { max-width: 84rem; }
.docs { display: grid; grid-template-columns: minmax(0, 1fr); }
.docs .body { min-width: 0; }
.docs .side { display: block; position: static; max-height: none; padding: 1.25rem 0 0; }
.docs .side section, .docs .side nav > p { margin: 0 0 0.9rem; }
.docs .side section p { margin: 0 0 0.2rem; }
.docs .side li { padding: 0; }
.docs .side li a { overflow-wrap: anywhere; }
.docs .side p a { display: inline-block; border: 0; padding: 0.1rem 0; color: inherit; }
.menu > summary { padding: 0.5rem 0; }
.operation h1 { font-size: clamp(1.4rem, 1.1rem + 1.4vw, 1.9rem); }
.columns h2 { font-size: 1.1rem; margin: 1.75rem 0 0.6rem; }
.columns h2:first-child { margin-top: 0.5rem; }
.columns .facts { margin-top: 0.5rem; grid-template-columns: minmax(0, 1fr); }
.columns .facts div { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: 0 1rem; padding: 0.45rem 1rem; align-items: baseline; }
.columns .facts dd { margin: 0; font-weight: inherit; }
.columns .listing pre { font-size: 0.77rem; }
.columns .says { grid-template-columns: minmax(0, 1fr); }
.columns .says :target, .columns .says > div:target { background: var(--mark); }
.languages { border: 0; margin: 0 0 0.6rem; padding: 0; display: flex; flex-wrap: wrap; gap: 0.4rem; }
.languages label { border: 1px solid var(--line); background: var(--raised); border-radius: 6px; padding: 0.2rem 0.7rem; font-size: 0.9rem; cursor: pointer; }
.languages label:has(:checked) { border-color: var(--link); color: var(--link); font-weight: 600; }
.languages label:has(:focus-visible) { outline: 3px solid var(--link); outline-offset: 2px; }
.languages input { margin: 0 0.4rem 0 0; accent-color: var(--link); }
.example:has([value="curl"]:checked) :is(.in-typescript, .in-python),
.example:has([value="typescript"]:checked) :is(.in-curl, .in-python),
.example:has([value="python"]:checked) :is(.in-curl, .in-typescript) { display: none; }
.index { list-style: none; margin: 0; padding: 0; }
.index li { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 1.25rem; align-items: baseline; padding: 0.5rem 0; border-bottom: 1px solid var(--line); max-width: none; line-height: 1.45; }
.index a { font-weight: 600; text-decoration: none; }
.index a:hover { text-decoration: underline; }
.index span { font-size: 0.88rem; color: var(--quiet); overflow-wrap: anywhere; }
.index b { font-family: var(--mono); font-weight: 600; font-size: 0.92em; margin-right: 0.4rem; }
@media (min-width: 60rem) {
  .docs { grid-template-columns: 14rem minmax(0, 1fr); gap: 0 2.5rem; align-items: start; }
  .docs .side { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.75rem 0.5rem 1.5rem 0.25rem; }
  @supports selector(::details-content) {
    .menu > summary { display: none; }
    .menu::details-content { content-visibility: visible; display: block; }
  }
}
@media (min-width: 70rem) {
  .columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.5rem; align-items: start; }
  .columns .text { grid-area: 1 / 1; }
  .columns .example { grid-area: 1 / 2; position: sticky; top: 0; max-height: 100vh; overflow-y: auto; }
}
@media (max-width: 40rem) { .index li { grid-template-columns: minmax(0, 1fr); } }
@media print { .docs .side, .languages { display: none; } .columns .example { position: static; max-height: none; } }
`;
