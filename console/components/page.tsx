import type { ComponentChildren } from 'preact';
import { useEffect, useId } from 'preact/hooks';

/** The content of a screen: its heading, its actions and its sections. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  /** The heading, and the title of the window. */
  readonly title: string;
  /** Shown below the heading, such as a sentence or an id with its copy button. */
  readonly lead?: ComponentChildren;
  /** Buttons next to the heading. */
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
