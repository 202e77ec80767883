import type { TargetedSubmitEvent } from "preact";
import { useRef } from "preact/hooks";
import { useAction } from "../state/use-answer.ts";
import { Failure } from "./failure.tsx";

export interface Field {
  name: string;
  label: string;
  /** Closed list of values; left out: any text. */
  values?: readonly string[];
  value?: string;
  hint?: string;
  isRequired?: boolean;
  isNumber?: boolean;
}

interface FormProps {
  /** Title of the form, and the text of its button. */
  label: string;
  help?: string;
  fields: readonly Field[];
  /** Whether it is open at first; default: it is not. */
  isOpen?: boolean;
  /** Sends the request. Fields that are empty are left out. */
  act(given: Record<string, string>): Promise<unknown>;
  done?: () => void;
}

/** A form that opens on demand. Errors of the server appear in it, with the fields that they name. */
export function Form({ label, help, fields, isOpen = false, act, done = () => {} }: FormProps) {
  const given = useRef<Record<string, string>>({});
  const place = useRef<HTMLDetailsElement>(null);
  const action = useAction(
    () => act(given.current),
    () => {
      if (place.current !== null) place.current.open = false;
      done();
    },
  );
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entries = [...new FormData(event.currentTarget)].map(
      ([name, value]) => [name, String(value).trim()] as const,
    );
    given.current = Object.fromEntries(entries.filter(([, value]) => value !== ""));
    action.run();
  };
  return (
    <details class="form" ref={place} open={isOpen}>
      <summary>{label}</summary>
      <form class="filters" onSubmit={submit} aria-label={label}>
        {fields.map((field) => (
          <label key={field.name}>
            <span>{field.label}</span>
            <FormField {...field} />
          </label>
        ))}
        <button type="submit" class="main" disabled={action.isRunning}>
          {label}
        </button>
      </form>
      {help !== undefined && <p class="dim">{help}</p>}
      <Failure of={action.failure} />
    </details>
  );
}

function FormField({ name, values, value, hint, isRequired = false, isNumber = false }: Field) {
  if (values !== undefined)
    return (
      <select name={name}>
        {values.map((one) => (
          <option key={one} value={one} selected={one === value}>
            {one}
          </option>
        ))}
      </select>
    );
  return (
    <input
      name={name}
      defaultValue={value}
      placeholder={hint}
      required={isRequired}
      maxLength={255}
      {...(isNumber && { inputMode: "decimal", pattern: "[0-9.]*" })}
    />
  );
}
