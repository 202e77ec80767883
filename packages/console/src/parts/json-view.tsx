import { useState } from "preact/hooks";
import { jsonText } from "../text/json-text.ts";
import { TEXTS } from "../texts.ts";
import { JsonTree, LongText } from "./json-tree.tsx";

/** A JSON value, as a tree or as text. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const [isText, setText] = useState(false);
  if (value === null || value === undefined) return <p class="dim">{TEXTS.none}</p>;
  return (
    <>
      <button type="button" class="quiet" aria-pressed={isText} onClick={() => setText(!isText)}>
        {isText ? TEXTS.asTree : TEXTS.asText}
      </button>
      {isText ? <LongText text={jsonText(value)} label={label} /> : <JsonTree value={value} label={label} />}
    </>
  );
}
