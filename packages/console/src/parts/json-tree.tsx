import { useState } from "preact/hooks";
import { ExactNumber } from "../api/exact-json.ts";
import { countText } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

/** Entries of an object or a list that are shown at first, and more of them with each click. */
const ENTRIES = 50;
/** Entries in the document at most; the form as text shows what lies behind. */
const ENTRIES_MAX = 200;
const CHARS = 500;
const CHARS_MORE = 20_000;

/** A JSON value as a tree whose parts open on demand. Every text is shown as text, whatever it contains. */
export function JsonTree({ value, label }: { value: unknown; label: string }) {
  return (
    <div class="json" role="group" aria-label={label}>
      <Value value={value} isOpen />
    </div>
  );
}

function Value({ value, isOpen = false }: { value: unknown; isOpen?: boolean }) {
  if (typeof value === "string") return <Text text={value} />;
  if (value instanceof ExactNumber) return <span class="number">{value.text}</span>;
  if (Array.isArray(value))
    return <Branch entries={value.map((one, place) => [`${place}`, one])} isList {...{ isOpen }} />;
  if (typeof value === "object" && value !== null) return <Branch entries={Object.entries(value)} {...{ isOpen }} />;
  return <span class={typeof value}>{String(value)}</span>;
}

interface BranchProps {
  entries: [string, unknown][];
  isList?: boolean;
  isOpen: boolean;
}

function Branch({ entries, isList = false, isOpen }: BranchProps) {
  const [open, setOpen] = useState(isOpen);
  const [shown, setShown] = useState(ENTRIES);
  const count = countText(entries.length);
  const summary = isList ? `[ ${TEXTS.items(count)} ]` : `{ ${TEXTS.fields(count)} }`;
  if (entries.length === 0) return <span class="dim">{isList ? "[ ]" : "{ }"}</span>;
  return (
    <>
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "▾" : "▸"} {summary}
      </button>
      {open && (
        <ul>
          {entries.slice(0, shown).map(([name, one]) => (
            <li key={name}>
              <bdi class="field">{visible(name.slice(0, CHARS))}</bdi>: <Value value={one} />
            </li>
          ))}
        </ul>
      )}
      {open && shown < Math.min(entries.length, ENTRIES_MAX) && (
        <button type="button" class="quiet" onClick={() => setShown(Math.min(shown + ENTRIES, ENTRIES_MAX))}>
          {TEXTS.showMore}
        </button>
      )}
      {open && shown >= ENTRIES_MAX && entries.length > shown && <p class="dim">{TEXTS.moreAsText(count)}</p>}
    </>
  );
}

/** A text in quotes, its beginning at first. */
function Text({ text }: { text: string }) {
  const [shown, setShown] = useState(CHARS);
  return (
    <>
      <bdi class="string">"{visible(text.slice(0, shown))}"</bdi>
      <More {...{ text, shown, setShown }} />
    </>
  );
}

/** A long text as it is, its beginning at first. */
export function LongText({ text, label }: { text: string; label: string }) {
  const [shown, setShown] = useState(CHARS_MORE);
  return (
    <>
      <pre role="region" tabIndex={0} aria-label={label}>
        {visible(text.slice(0, shown))}
      </pre>
      <More {...{ text, shown, setShown }} />
    </>
  );
}

function More({ text, shown, setShown }: { text: string; shown: number; setShown(shown: number): void }) {
  if (text.length <= shown) return null;
  const more = Math.min(text.length - shown, CHARS_MORE);
  return (
    <button type="button" class="quiet" onClick={() => setShown(shown + more)}>
      {TEXTS.charactersMore(countText(more))}
    </button>
  );
}
