import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useOperation } from '../data/use-operation.ts';
import { useFormProblem } from './form.tsx';

export type FieldParts = {
  readonly label: string;
  /** The field of the request, such as `limits.in.daily_amount`. An error of the service about it is shown here. */
  readonly name?: string | undefined;
  /** What to type, shown below the field. */
  readonly hint?: ComponentChildren;
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
};

/** The attributes that connect a control with its label, its hint and its problem. */
export type ControlParts = {
  readonly id: string;
  readonly name: string | undefined;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
};

/** Shows a label, and a control with its hint and its problem. `children` receives the attributes that connect them. */
export function Field({
  label,
  name,
  hint,
  problem,
  children,
}: FieldParts & {
  readonly children: (control: ControlParts) => ComponentChildren;
}) {
  const id = useId();
  const found = useFormProblem(name ?? id);
  const shown = problem ?? found;
  const about = [hint !== undefined && `${id}-hint`, shown !== undefined && `${id}-problem`].filter(Boolean);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        name,
        'aria-describedby': about.length === 0 ? undefined : about.join(' '),
        'aria-invalid': shown !== undefined,
      })}
      {shown !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          {shown}
        </p>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
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
  inputMode,
  autoComplete = 'off',
  ...field
}: FieldParts & {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'url' | 'date';
  readonly required?: boolean;
  /** For the first field of a screen. A dialog focuses its first field automatically. */
  readonly autoFocus?: boolean;
  readonly placeholder?: string;
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
      {(control) => (
        <input
          {...control}
          ref={input}
          // Preact has a separate TypeScript type for each type of input. Here the input can be any text input.
          type={type as 'text'}
          value={value}
          required={required}
          placeholder={placeholder}
          inputMode={inputMode}
          autoComplete={autoComplete}
          spellcheck={false}
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
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
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
      {(control) => (
        <textarea
          {...control}
          class={isProse ? 'prose' : undefined}
          rows={rows}
          value={value}
          aria-keyshortcuts={shortcut}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onSubmit?.();
          }}
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
  name = 'program_id',
  value,
  onChange,
  without = 'Choose a program',
}: {
  readonly name?: string;
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
      <SelectField label="Card program" name={name} value={value} options={options} onChange={onChange} />
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
