/** The part of the stylesheet of the pages that is for the guides. */
export const GUIDE_STYLE = `
.guides { list-style: none; margin: 0; padding: 0; }
.guides li { display: grid; grid-template-columns: minmax(0, 13rem) minmax(0, 1fr); gap: 0 1rem; padding: 0.5rem 0; border-bottom: 1px solid var(--line); max-width: none; }
.guides a { font-weight: 600; }
.guide { display: grid; grid-template-columns: 11.5rem minmax(0, 1fr); gap: 0 2.75rem; align-items: start; }
.guide article { min-width: 0; }
.guide .first { font-size: 1.1rem; line-height: 1.5; }
.side { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.75rem 0.25rem 1.5rem 0; font-size: 0.9rem; line-height: 1.4; }
.side p { margin: 1rem 0 0.2rem; font-weight: 650; }
.side p:first-child { margin-top: 0; }
.side ul { list-style: none; margin: 0; padding: 0; }
.side a { display: block; padding: 0.2rem 0 0.2rem 0.7rem; border-left: 2px solid var(--line); color: var(--quiet); text-decoration: none; }
.side a:hover { color: var(--link); text-decoration: underline; }
.side a[aria-current] { color: var(--ink); border-left-color: var(--link); font-weight: 600; }
.onpage { border-left: 4px solid var(--line); padding: 0.1rem 0 0.1rem 1rem; margin: 1.25rem 0 1.5rem; font-size: 0.92rem; }
.onpage p { margin: 0 0 0.2rem; font-weight: 650; }
.onpage ul { list-style: none; margin: 0; padding: 0; columns: 15rem; column-gap: 2rem; }
.guide h3 { margin-top: 1.75rem; }
.letters ul { display: flex; flex-wrap: wrap; gap: 0 0.9rem; }
.onpage li { padding: 0.1rem 0; break-inside: avoid; }
.anchor { color: var(--quiet); font-weight: 400; text-decoration: none; opacity: 0; padding: 0 0.2rem; }
:hover > .anchor, .anchor:focus { opacity: 1; }
blockquote { margin: 0 0 1rem; padding-left: 1rem; border-left: 4px solid var(--line); }
.table { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: 0.92rem; line-height: 1.45; }
th, td { text-align: left; vertical-align: top; padding: 0.45rem 1rem 0.45rem 0; border-bottom: 1px solid var(--line); min-width: 4.5rem; }
th { border-bottom-width: 2px; }
.picture { margin: 1.25rem 0 1.5rem; }
.picture svg { display: block; width: 100%; height: auto; max-width: 34rem; font-family: var(--sans); }
.picture .ground { fill: var(--ground); } .picture .program { fill: var(--sunken); } .picture .box { fill: var(--raised); } .picture .hold { fill: var(--mark); }
.picture .edge { stroke: var(--quiet); } .picture .arrow { stroke: var(--link); } .picture .tip { fill: var(--link); } .picture .ink { fill: var(--ink); } .picture .quiet { fill: var(--quiet); }
.picture figcaption { font-size: 0.9rem; color: var(--quiet); margin-top: 0.4rem; }
@media (hover: none) { .anchor { opacity: 1; } }
@media (max-width: 52rem) {
  .guide { display: block; }
  .side { display: none; }
}
@media (max-width: 40rem) {
  .guides li { grid-template-columns: minmax(0, 1fr); }
  table { width: max-content; min-width: 100%; }
  th, td { max-width: 16rem; }
}
@media print { .side, .onpage, .anchor { display: none; } .guide { display: block; } }
`;
