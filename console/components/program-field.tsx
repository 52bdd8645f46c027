import { useOperation } from '../data/use-operation.ts';
import { SelectField, TextField } from './field.tsx';

const MAX_PROGRAMS = 100;

/** A card program by its name; of more than a hundred, the others by their id. */
export function ProgramField({
  value,
  onChange,
  without = 'Choose a program',
}: {
  readonly value: string;
  readonly onChange: (programId: string) => void;
  /** What it means to choose none. */
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
