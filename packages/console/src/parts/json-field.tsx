import { useMemo } from "preact/hooks";
import { isJsonOrEmpty } from "../text/json-text.ts";
import { TEXTS } from "../texts.ts";

interface JsonFieldProps {
  label: string;
  value: string;
  rows?: number;
  change(text: string): void;
}

/** A field of JSON, which says so when the text is none. */
export function JsonField({ label, value, rows = 10, change }: JsonFieldProps) {
  const isGood = useMemo(() => isJsonOrEmpty(value), [value]);
  return (
    <>
      <label>
        <span>{label}</span>
        <textarea
          rows={rows}
          spellcheck={false}
          value={value}
          aria-invalid={!isGood}
          onInput={(event) => change(event.currentTarget.value)}
        />
      </label>
      {!isGood && <p role="alert">{TEXTS.notJson(label)}</p>}
    </>
  );
}
