import { type ComponentChildren, createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { TransferServiceError } from '../../sdk/client.ts';
import { ErrorRecord } from './error-record.tsx';

type Problems = Readonly<Record<string, string>>;

const FormProblems = createContext<Problems>({});

/** Returns what the service or the browser says about an input of the form. */
export function useFormProblem(name: string): string | undefined {
  const problems = useContext(FormProblems);
  return Object.hasOwn(problems, name) ? problems[name] : undefined;
}

/**
 * A form whose problems are next to its inputs. If an error of the service names a field, its message is shown next to the input
 * with this name, and the error record below the inputs only says where. After a failed try, the first wrong input has the focus.
 */
export function Form({
  children,
  footer,
  error,
  hasRecord = true,
  onSubmit,
  look,
  label,
}: {
  readonly children: ComponentChildren;
  /** Shown below the error, such as the buttons. */
  readonly footer?: ComponentChildren;
  readonly error?: Error | undefined;
  /** Whether the form shows the error record. False if the screen shows it elsewhere. */
  readonly hasRecord?: boolean;
  readonly onSubmit: () => void;
  /** The class of the form. */
  readonly look?: string | undefined;
  /** The name for screen readers. */
  readonly label?: string | undefined;
}) {
  const form = useRef<HTMLFormElement>(null);
  const mustFocus = useRef(false);
  // What the browser says about values that it can't read, such as half a date.
  const [unreadable, setUnreadable] = useState<Problems>({});
  const [place, setPlace] = useState<{ readonly error: Error; readonly input: Input } | undefined>(undefined);
  useLayoutEffect(() => {
    const input = form.current === null ? undefined : inputOf(form.current, error);
    setPlace(error === undefined || input === undefined ? undefined : { error, input });
    if (input === undefined || !mustFocus.current) return;
    mustFocus.current = false;
    focusOn(input);
  }, [error]);
  useLayoutEffect(() => {
    if (!mustFocus.current) return;
    const first = form.current?.querySelector<Input>('[aria-invalid="true"]') ?? undefined;
    if (first === undefined) return;
    mustFocus.current = false;
    focusOn(first);
  });
  const isBeside = place !== undefined && place.error === error;
  const problems = isBeside ? { ...unreadable, [place.input.name]: place.error.message } : unreadable;
  return (
    <form
      ref={form}
      class={look}
      aria-label={label}
      onInvalidCapture={(event) => {
        event.preventDefault();
        const input = event.target as Input;
        const { name, id, validationMessage } = input;
        if (input === form.current?.querySelector(`${INPUTS}:invalid`)) focusOn(input);
        setUnreadable((before) => ({ ...before, [name || id]: validationMessage }));
      }}
      onInput={(event) => {
        mustFocus.current = false;
        const { name, id } = event.target as Input;
        const { [name || id]: gone, ...rest } = unreadable;
        if (gone !== undefined) setUnreadable(rest);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        mustFocus.current = true;
        onSubmit();
      }}
    >
      <FormProblems.Provider value={problems}>{children}</FormProblems.Provider>
      {error !== undefined && hasRecord && (
        <ErrorRecord error={error} beside={isBeside ? labelOf(place.input) : undefined} />
      )}
      {footer}
    </form>
  );
}

const INPUTS = ':is(input, select, textarea)';

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Finds the input for the field of an error: for `/metadata/color`, the input `metadata.color`, or else `metadata`. */
function inputOf(form: HTMLFormElement, error: Error | undefined): Input | undefined {
  if (!(error instanceof TransferServiceError) || error.field === undefined) return undefined;
  const names = error.field.slice(1).split('/');
  for (let count = names.length; count > 0; count -= 1) {
    const name = CSS.escape(names.slice(0, count).join('.'));
    const found = form.querySelector<Input>(`${INPUTS}[name="${name}"]`);
    if (found !== null) return found;
  }
  return undefined;
}

function focusOn(input: Input): void {
  input.closest('details')?.setAttribute('open', '');
  input.focus();
}

function labelOf(input: Input): string {
  return input.labels?.[0]?.textContent ?? input.name;
}
