import type { ComponentChildren } from 'preact';
import { useEffect, useId } from 'preact/hooks';

/** The content of a screen: its heading, what can be done there, and its sections. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  /** The heading and the title of the window. */
  readonly title: string;
  /** What is shown instead of the title as the heading, such as an id with its copy button. */
  readonly lead?: ComponentChildren;
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · Transfer Service`;
  }, [title]);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <div class="page-lead">{lead}</div>}
        </div>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page, with its heading. */
export function Section({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="section" aria-labelledby={id}>
      <header class="section-head">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}
