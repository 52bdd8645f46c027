import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useOperation } from '../data/use-operation.ts';

type FieldParts = {
  readonly label: string;
  /** What to type, shown below the field. */
  readonly hint?: ComponentChildren;
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
};

/** Shows a label, and a control with its hint and its problem. `children` receives the ids that connect them. */
export function Field({
  label,
  hint,
  problem,
  children,
}: FieldParts & {
  readonly children: (ids: { readonly id: string; readonly describedBy: string | undefined }) => ComponentChildren;
}) {
  const id = useId();
  const about = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(Boolean);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, describedBy: about.length === 0 ? undefined : about.join(' ') })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

export function TextField({
  value,
  onInput,
  type = 'text',
  required = false,
  autoFocus = false,
  placeholder,
  name,
  inputMode,
  autoComplete = 'off',
  ...field
}: FieldParts & {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'url' | 'date' | 'datetime-local';
  readonly required?: boolean;
  /** For the first field of a screen. A dialog focuses its first field automatically. */
  readonly autoFocus?: boolean;
  readonly placeholder?: string;
  readonly name?: string;
  readonly inputMode?: 'decimal' | 'numeric' | 'text';
  readonly autoComplete?: 'off' | 'current-password';
}) {
  const input = useRef<HTMLInputElement>(null);
  // Must run before the next key is handled, so that the first keystrokes reach the field.
  useLayoutEffect(() => {
    if (autoFocus) input.current?.focus();
  }, [autoFocus]);
  return (
    <Field {...field}>
      {({ id, describedBy }) => (
        <input
          ref={input}
          id={id}
          name={name}
          // Preact has a separate TypeScript type for each type of input. Here the input can be any text input.
          type={type as 'text'}
          value={value}
          step={type === 'datetime-local' ? '1' : undefined}
          required={required}
          placeholder={placeholder}
          inputMode={inputMode}
          autoComplete={autoComplete}
          spellcheck={false}
          aria-describedby={describedBy}
          aria-invalid={field.problem !== undefined}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function SelectField({
  value,
  onChange,
  options,
  ...field
}: FieldParts & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Values with their labels, or values that are also their labels. */
  readonly options: readonly (string | readonly [value: string, text: string])[];
}) {
  return (
    <Field {...field}>
      {({ id, describedBy }) => (
        <select
          id={id}
          value={value}
          aria-describedby={describedBy}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {options.map((option) => {
            const [own, text] = typeof option === 'string' ? [option, option.replaceAll('_', ' ')] : option;
            return (
              <option key={own} value={own}>
                {text}
              </option>
            );
          })}
        </select>
      )}
    </Field>
  );
}

export function AreaField({
  value,
  onInput,
  rows = 4,
  isProse = false,
  shortcut,
  onSubmit,
  ...field
}: FieldParts & {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  /** Whether it holds text for people, not data. */
  readonly isProse?: boolean;
  /** The letter that focuses the field while no text field has the focus. */
  readonly shortcut?: string | undefined;
  /** Called on Ctrl-Enter. */
  readonly onSubmit?: (() => void) | undefined;
}) {
  return (
    <Field {...field}>
      {({ id, describedBy }) => (
        <textarea
          id={id}
          class={isProse ? 'prose' : undefined}
          rows={rows}
          value={value}
          aria-keyshortcuts={shortcut}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onSubmit?.();
          }}
          aria-describedby={describedBy}
          aria-invalid={field.problem !== undefined}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function CheckField({
  label,
  checked,
  onChange,
}: {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

const MAX_PROGRAMS = 100;

/** Chooses a card program by name. If there are more than a hundred, the others can be entered by id. */
export function ProgramField({
  value,
  onChange,
  without = 'Choose a program',
}: {
  readonly value: string;
  readonly onChange: (programId: string) => void;
  /** The label of the option for no program. */
  readonly without?: string;
}) {
  const { data } = useOperation((api, options) => api.programs.list({ limit: MAX_PROGRAMS }, options));
  const programs = data?.data ?? [];
  const isListed = programs.some(({ program_id: id }) => id === value);
  const options: (readonly [string, string])[] = [
    ['', without],
    ...programs.map(({ program_id: id, name }) => [id, name] as const),
    ...(value === '' || isListed ? [] : [[value, value] as const]),
  ];
  return (
    <>
      <SelectField label="Card program" value={value} options={options} onChange={onChange} />
      {data !== undefined && data.next_cursor !== null && (
        <TextField
          label="Or its id"
          value={value}
          onInput={(id) => onChange(id.trim())}
          hint={`The newest ${MAX_PROGRAMS} programs are listed.`}
        />
      )}
    </>
  );
}
