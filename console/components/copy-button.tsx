import { useEffect, useState } from 'preact/hooks';

/** Copies a text. Browsers allow that only over HTTPS or on localhost; elsewhere people select the text themselves. */
export function CopyButton({
  text,
  label = 'Copy',
  visible = false,
}: {
  readonly text: string;
  /** What is copied, for screen readers: "Copy the id". */
  readonly label?: string;
  /** Whether the label is shown as text, instead of a symbol. */
  readonly visible?: boolean;
}) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = window.setTimeout(() => setState('ready'), 1_500);
    return () => window.clearTimeout(timer);
  }, [state]);
  const copy = async () => setState((await copyText(text)) ? 'copied' : 'failed');
  const said = state === 'copied' ? 'Copied' : state === 'failed' ? 'Could not copy: select the text instead' : label;
  return (
    <button class={visible ? 'button plain' : 'copy'} type="button" onClick={copy} title={visible ? undefined : said}>
      {!visible && (
        <svg viewBox="0 0 16 16" aria-hidden="true" class={state}>
          {state === 'copied' ? <path d="M3 8.5 6.5 12 13 4.5" /> : <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />}
        </svg>
      )}
      <span class={visible ? '' : 'hidden'} role="status">
        {said}
      </span>
    </button>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
