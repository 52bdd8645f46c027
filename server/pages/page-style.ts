/**
 * The stylesheet of the pages. Each page contains it, and the Content-Security-Policy allows it by its hash. Colors have a contrast
 * of at least 4.5 to 1 in both color schemes. No information is shown by color alone. `npm run generate` writes each color from its
 * comment, as in console/styles/tokens.css.
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#ffffff, #111113); /* white, slate-1 */
  --raised: light-dark(#ffffff, #18191b); /* white, slate-2 */
  --sunken: light-dark(#f9f9fb, #212225); /* slate-2, slate-3 */
  --ink: light-dark(#1c2024, #edeef0); /* slate-12 */
  --quiet: light-dark(#60646c, #b0b4ba); /* slate-11 */
  --line: light-dark(#e0e1e6, #2e3135); /* slate-5 */
  --link: light-dark(#3a5bc7, #9eb1ff); /* indigo-11 */
  --request: light-dark(#815e46, #dbb594); /* brown-11 */
  --server: light-dark(#ce2c31, #ff9592); /* red-11 */
  --process: light-dark(#6550b9, #baa7ff); /* violet-11 */
  --mark: light-dark(#ffee9c, #3f2700); /* amber-4 */
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
}
*, *::before, *::after { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.6 var(--sans); overflow-wrap: break-word;
}
.wide { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
h1, h2, h3, h4 { line-height: 1.25; letter-spacing: -0.012em; text-wrap: balance; margin: 2.5rem 0 0.75rem; }
h1 { font-size: clamp(1.6rem, 1.2rem + 2.2vw, 2.4rem); letter-spacing: -0.022em; margin: 1.5rem 0 0.5rem; }
h2 { font-size: 1.3rem; }
h3 { font-size: 1.08rem; }
h4 { font-size: 0.95rem; margin: 1.5rem 0 0.5rem; }
p, ul, ol, dl, figure { margin: 0 0 1rem; }
p, li, dd { max-width: 44rem; }
code, pre { font-family: var(--mono); font-size: 0.92em; }
h1 code { font-size: 0.92em; letter-spacing: -0.03em; }
a { color: var(--link); text-decoration-thickness: 0.06em; text-underline-offset: 0.18em; }
a:hover { text-decoration-thickness: 0.14em; }
a:has(> code) { text-underline-offset: 0.38em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
.skip { position: absolute; left: -99rem; top: 0; z-index: 1; background: var(--raised); padding: 0.75rem 1.25rem; }
.skip:focus { left: 0; }
.quiet { color: var(--quiet); }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0; border: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }

.top { border-bottom: 1px solid var(--line); }
.top .wide { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1.75rem; padding-block: 0.8rem; }
.brand { color: var(--ink); font-weight: 650; letter-spacing: -0.01em; text-decoration: none; padding: 0.25rem 0; }
.top ul { display: flex; flex-wrap: wrap; gap: 0 1.25rem; list-style: none; margin: 0; padding: 0; }
.top li a { display: inline-block; white-space: nowrap; padding: 0.25rem 0; color: var(--quiet); text-decoration: none; }
.top li a:hover { color: var(--link); text-decoration: underline; }
.top a[aria-current] { color: var(--ink); box-shadow: 0 2px 0 var(--link); }
.bottom { border-top: 1px solid var(--line); margin-top: 4rem; padding: 1.5rem 0 2.5rem; font-size: 0.9rem; color: var(--quiet); }
.bottom p { margin: 0 0 0.25rem; }

.lead { font-size: 1.15rem; line-height: 1.5; max-width: 40rem; text-wrap: pretty; }
.trail { font-size: 0.9rem; color: var(--quiet); margin-top: 1.75rem; }
.trail ol { list-style: none; display: flex; flex-wrap: wrap; margin: 0; padding: 0; }
.trail li + li::before { content: "/"; padding: 0 0.6rem; }
.trail a { display: inline-block; padding: 0.2rem 0; }
.trail + h1 { margin-top: 0.35rem; }

.top search { flex: 1 1 12rem; max-width: 24rem; margin-left: auto; }
.top input {
  width: 100%; font: inherit; font-size: 0.92rem; color: inherit; background: var(--raised);
  border: 1px solid var(--quiet); border-radius: 8px; padding: 0.35rem 0.7rem;
}
.top input::placeholder { color: var(--quiet); opacity: 1; }
.found { list-style: none; margin: 0 0 1rem; padding: 0; }
.found li { padding: 0.55rem 0; border-bottom: 1px solid var(--line); max-width: none; }
.found li > a { font-family: var(--mono); font-size: 0.92em; font-weight: 600; text-decoration: none; }
.found li > .words { font-family: inherit; font-size: 1em; }
.found a:hover { text-decoration: underline; }
.found p { margin: 0.1rem 0 0; line-height: 1.5; }
.found p + p { font-size: 0.9rem; color: var(--quiet); }
.found .number { font-family: var(--mono); font-size: 0.92em; color: var(--tone); }

.request { --tone: var(--request); } .server { --tone: var(--server); } .process { --tone: var(--process); }
.problems { columns: 24rem; column-gap: 2.5rem; margin-top: 1.5rem; }
.problems section { break-inside: avoid; padding-bottom: 1.25rem; }
.problems h2 { font-size: 1.1rem; margin: 0 0 0.5rem; }
.problems dl { margin: 0; border-top: 1px solid var(--line); }
.problems dl div { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
.problems dt { font-weight: 600; line-height: 1.4; }
.problems dd { margin: 0; line-height: 1.5; }
.problems dd a { display: inline-block; font-family: var(--mono); font-size: 0.86rem; line-height: 1.3; padding: 0.25rem 0; text-decoration: none; margin-right: 0.75rem; }
.problems dd a:hover { text-decoration: underline; }
.kind { color: var(--tone); }
.group > h2 { border-bottom: 1px solid var(--line); padding-bottom: 0.4rem; margin-top: 3.25rem; }
.group > h3 { margin: 1.75rem 0 0.25rem; }
.group > h2 .kind { font-size: 0.8em; margin-right: 0.25rem; }
.codes { list-style: none; margin: 0 0 1.5rem; padding: 0; }
.codes li {
  display: grid; grid-template-columns: 3.2rem minmax(0, 17rem) minmax(0, 1fr); gap: 0 1rem; align-items: baseline;
  padding: 0.6rem 0; border-bottom: 1px solid var(--line); position: relative; max-width: none;
}
.codes li:hover { background: var(--sunken); box-shadow: -0.75rem 0 0 var(--sunken), 0.75rem 0 0 var(--sunken); }
.codes .number { font-family: var(--mono); font-size: 0.92em; color: var(--tone); font-variant-numeric: tabular-nums; }
.codes a { font-family: var(--mono); font-size: 0.92em; font-weight: 600; text-decoration: none; }
.codes a::after { content: ""; position: absolute; inset: 0; }
.codes a:hover { text-decoration: underline; }
.codes p { margin: 0; grid-column: 3; line-height: 1.5; }
.codes p + p { font-size: 0.9rem; color: var(--quiet); }
.events li { grid-template-columns: minmax(0, 15rem) minmax(0, 1fr); }
.events p { grid-column: 2; }
.remedy p + p { margin-top: 0.5rem; }
.family { background: var(--sunken); border-radius: 10px; padding: 0.9rem 1.25rem 0.2rem; margin: 1rem 0; }
.family h4 { margin: 0 0 0.4rem; font-size: 1rem; }
.family p { margin: 0 0 0.8rem; font-size: 0.95rem; }
.pairs { list-style: none; margin: 0; padding: 0; }
.pairs li { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1rem; padding: 0.35rem 0; border-bottom: 1px solid var(--line); max-width: none; line-height: 1.4; }
.pairs a { font-family: var(--mono); font-size: 0.86rem; text-decoration: none; }
.pairs a:hover { text-decoration: underline; }

.facts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); margin: 1.75rem 0 0;
  background: var(--raised); border: 1px solid var(--line); border-top: 3px solid var(--tone, var(--line)); border-radius: 8px; overflow: hidden;
}
.facts div { padding: 0.75rem 1rem; box-shadow: 0 0 0 0.5px var(--line); }
.facts dt { font-size: 0.8rem; color: var(--quiet); line-height: 1.35; }
.facts dd { margin: 0.15rem 0 0; font-weight: 600; line-height: 1.35; }
.facts .kind { font-weight: 650; }
.remedy { border-left: 4px solid var(--link); background: var(--sunken); border-radius: 0 8px 8px 0; padding: 0.9rem 1.2rem; }
.remedy h2 { margin: 0 0 0.3rem; font-size: 1.05rem; }
.remedy p { margin: 0; }
.note { margin-top: 1rem; }
.listing { border: 1px solid var(--line); border-radius: 8px; background: var(--raised); overflow: hidden; margin: 0 0 1rem; }
.listing figcaption { font-size: 0.8rem; color: var(--quiet); padding: 0.45rem 1rem; border-bottom: 1px solid var(--line); background: var(--sunken); }
.listing figcaption { display: flex; align-items: center; gap: 1rem; min-height: 2.25rem; }
.listing .copy { margin-left: auto; }
.copy {
  font: inherit; font-size: 0.8rem; line-height: 1.3; color: var(--link); background: var(--raised);
  border: 1px solid var(--line); border-radius: 6px; padding: 0.2rem 0.6rem; cursor: pointer;
}
.copy:hover { border-color: var(--link); }
.listing pre { margin: 0; padding: 0.85rem 1rem; font-size: 0.86rem; line-height: 1.6; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 2; }
.listing pre code { font-size: inherit; }
.listing .status { color: var(--tone); font-weight: 650; }
.listing .name { color: var(--quiet); }
.listing .comment { color: var(--quiet); font-style: italic; }
.listing .string { color: var(--request); }
.listing .keyword { color: var(--process); }
.listing .value { color: var(--link); }
.says { display: grid; grid-template-columns: minmax(0, 13rem) minmax(0, 1fr); margin: 0 0 1rem; border-top: 1px solid var(--line); }
.says > div { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; gap: 0 1.25rem; padding: 0.55rem 0; border-bottom: 1px solid var(--line); }
.says dt { overflow-wrap: anywhere; }
.says dt > code { font-weight: 600; }
.says dd { margin: 0; line-height: 1.5; }
.says .type { display: block; font-size: 0.82rem; color: var(--quiet); line-height: 1.4; }
.says .required { color: var(--request); font-size: 0.82rem; }
.says .inner { padding-left: 1rem; }
.says .above { color: var(--quiet); font-weight: 400; }
.steps { padding-left: 1.4rem; }
.links { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.4rem 0.5rem; max-width: none; }
.links a { display: inline-block; border: 1px solid var(--line); background: var(--raised); border-radius: 6px; padding: 0.15rem 0.6rem; font-size: 0.92rem; text-decoration: none; }
.links a:hover { border-color: var(--link); }
.adjacent { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.adjacent span { display: block; font-size: 0.8rem; color: var(--quiet); }
.adjacent p { margin: 0; overflow-wrap: anywhere; }
.adjacent p + p { text-align: right; }
.adjacent a { text-decoration: none; }
.adjacent a:hover { text-decoration: underline; }

.intro { display: grid; grid-template-columns: minmax(0, 26rem) minmax(0, 1fr); gap: 0 2.5rem; align-items: start; margin-top: 1rem; }
.intro h2 { margin-top: 1.25rem; }
.reasons dt { font-weight: 650; }
.reasons dd { margin: 0.1rem 0 0.9rem; line-height: 1.5; }
.sides .listing pre { font-size: 0.77rem; }
.sides { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 1.25rem; align-items: start; }
.cards { list-style: none; margin: 0 0 1.5rem; padding: 0; }
.cards li {
  display: grid; grid-template-columns: minmax(0, 14.5rem) minmax(0, 1fr) 5.5rem minmax(0, 8rem); gap: 0 1rem; align-items: baseline;
  padding: 0.55rem 0; border-bottom: 1px solid var(--line); max-width: none;
}
.cards div { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 0.75rem; justify-content: space-between; }
.cards div > code { font-weight: 600; }
.cards p { margin: 0; line-height: 1.5; }
.cards p code { font-size: 0.86em; overflow-wrap: anywhere; }
.cards .state, .cards .amount { font-size: 0.9rem; color: var(--quiet); }
.cards .amount { text-align: right; font-variant-numeric: tabular-nums; }
.route { font-family: var(--mono); font-size: 0.92rem; background: var(--sunken); border-radius: 8px; padding: 0.5rem 0.9rem; max-width: none; overflow-wrap: anywhere; }
.route b { color: var(--link); margin-right: 0.6rem; }
.precedence { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.1rem 0.35rem; max-width: none; font-size: 0.86rem; }
.precedence li:not(:last-child)::after { content: "→"; color: var(--quiet); padding-left: 0.35rem; }
.precedence a { text-decoration: none; font-family: var(--mono); }
.precedence strong { font-weight: 650; }
.precedence a:hover { text-decoration: underline; }
.precedence .number { color: var(--quiet); font-family: var(--mono); font-variant-numeric: tabular-nums; }
details { margin: 0 0 1rem; }
summary { cursor: pointer; font-weight: 600; padding: 0.3rem 0; }
details > :not(summary) { margin-top: 0.5rem; }

@media (max-width: 40rem) {
  .top .wide { gap: 0 0.9rem; padding-block: 0.5rem; }
  .top nav { order: 1; flex-basis: 100%; overflow-x: auto; scrollbar-width: none; }
  .top ul { flex-wrap: nowrap; justify-content: space-between; gap: 0 0.6rem; font-size: 0.88rem; padding-bottom: 2px; }
  .codes li { grid-template-columns: 2.8rem minmax(0, 1fr); gap: 0 0.5rem; padding: 0.7rem 0; }
  .codes p { grid-column: 2; font-size: 0.95rem; }
  .events li { grid-template-columns: minmax(0, 1fr); gap: 0.15rem 0; }
  .events p { grid-column: 1; }
  .cards li { grid-template-columns: minmax(0, 1fr) auto; gap: 0.15rem 0.75rem; }
  .cards div, .cards p:not(.state, .amount) { grid-column: 1 / -1; }
  .intro, .sides { grid-template-columns: minmax(0, 1fr); }
  .facts { grid-template-columns: 1fr 1fr; }
  .says { grid-template-columns: minmax(0, 1fr); }
  .listing pre { font-size: 0.8rem; padding: 0.75rem 0.8rem; }
  .top search { flex: 1 1 9rem; max-width: none; margin: 0; }
}
@media (prefers-contrast: more) { :root { --line: var(--quiet); --quiet: var(--ink); } }
@media print {
  :root { color-scheme: light; --ground: #fff; --raised: #fff; --sunken: #fff; --ink: #000; --quiet: #444; --line: #999; --link: #000; --request: #000; --server: #000; --process: #000; }
  body { font-size: 10.5pt; }
  .wide { max-width: none; padding: 0; }
  .top nav, .top search, .skip, .copy, .adjacent { display: none; }
  .listing, .facts, .codes li, .remedy, .says > div, .family { break-inside: avoid; }
  h2, h3, h4 { break-after: avoid; }
  .bottom { margin-top: 1.5rem; padding: 0.5rem 0; }
}
`;

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

/**
 * The rules of the stylesheet for the API reference. On wide screens, the contents are next to the text. On narrow screens, they
 * are in a collapsed list. Browsers without `::details-content` collapse it on all screens.
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
.languages { border: 0; border-bottom: 1px solid var(--line); margin: 0 0 0.6rem; padding: 0; display: flex; gap: 0 1.25rem; overflow-x: auto; }
.languages label { padding: 0.35rem 0.1rem; font-size: 0.9rem; color: var(--quiet); cursor: pointer; border-bottom: 2px solid transparent; }
.languages label:hover { color: var(--link); }
.languages label:has(:checked) { border-bottom-color: var(--link); color: var(--ink); font-weight: 600; }
.languages label:has(:focus-visible) { outline: 3px solid var(--link); outline-offset: -3px; border-radius: 3px; }
.languages input { position: absolute; opacity: 0; pointer-events: none; }
.example:has([value="curl"]:checked) > [class|="in"]:not(.in-curl),
.example:has([value="typescript"]:checked) > [class|="in"]:not(.in-typescript),
.example:has([value="python"]:checked) > [class|="in"]:not(.in-python),
.example:has([value="go"]:checked) > [class|="in"]:not(.in-go) { display: none; }
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
@media (max-width: 59.99rem) { .docs .body > :first-child { margin-top: 0.5rem; } }
@media (max-width: 40rem) { .index li { grid-template-columns: minmax(0, 1fr); } }
@media print { .docs .side, .languages { display: none; } .columns .example { position: static; max-height: none; } }
`;
