import type { HandlerBody, PoolBody } from "@mainspring/contract";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Page } from "../../api/answers.ts";
import type { RequestFailed } from "../../api/client.ts";
import { linkTo } from "../../state/route.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { PALETTE_TEXTS } from "../../texts/palette-texts.ts";
import { Failure } from "../failure.tsx";
import { Name } from "../text.tsx";
import { type Destination, matching } from "./places.ts";

/** A dialog that leads to a page, an id, a pool or a handler. A button opens it, and Ctrl or Command with K. */
export function Palette({ pages }: { pages: readonly Destination[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const open = () => {
    setOpen(true);
    if (dialog.current?.open === false) dialog.current.showModal();
  };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      open();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button type="button" aria-keyshortcuts="Control+K" title={PALETTE_TEXTS.shortcut} onClick={open}>
        {PALETTE_TEXTS.open}
      </button>
      <dialog ref={dialog} class="palette" aria-label={PALETTE_TEXTS.open} onClose={() => setOpen(false)}>
        {isOpen && <Choices pages={pages} close={() => dialog.current?.close()} />}
      </dialog>
    </>
  );
}

function Choices({ pages, close }: { pages: readonly Destination[]; close(): void }) {
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const { names, failure } = useNames();
  const found = matching(text, [...pages, ...names]);
  const chosen = Math.min(place, found.length - 1);
  const go = (to: Destination | undefined) => {
    if (to === undefined) return;
    close();
    location.hash = linkTo(to.path, to.query);
  };
  const press = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (step === undefined) go(found[chosen]);
    else if (found.length > 0) setPlace((chosen + step + found.length) % found.length);
  };
  return (
    <>
      <input
        type="text"
        role="combobox"
        aria-label={PALETTE_TEXTS.title}
        placeholder={PALETTE_TEXTS.title}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${chosen}` : undefined}
        value={text}
        maxLength={255}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setPlace(0);
        }}
        onKeyDown={press}
      />
      <div id="palette-list" role="listbox" aria-label={PALETTE_TEXTS.title}>
        {found.map((one, number) => (
          // The keyboard chooses an option by the field above.
          <div
            key={`${one.kind} ${one.text}`}
            id={`palette-${number}`}
            role="option"
            tabIndex={-1}
            aria-selected={number === chosen}
            onClick={() => go(one)}
          >
            <Name of={one.text} /> <span class="dim">{PALETTE_TEXTS.kinds[one.kind]}</span>
          </div>
        ))}
      </div>
      <Failure of={failure} />
      {found.length === 0 && <p role="status">{PALETTE_TEXTS.none}</p>}
    </>
  );
}

/** Pools and handlers of the server, each name once. */
function useNames(): { names: Destination[]; failure: RequestFailed | null } {
  const pools = useAnswer<Page<PoolBody>>("pools?limit=1000");
  const handlers = useAnswer<Page<HandlerBody>>("handlers?limit=200");
  const of = (kind: "pool" | "handler", names: readonly string[]): Destination[] =>
    [...new Set(names)].map((name) => ({ kind, text: name, path: ["executions"], query: { [kind]: name } }));
  const names = [
    ...of("pool", pools.data?.items.map(({ name }) => name) ?? []),
    ...of("handler", handlers.data?.items.map(({ handler }) => handler) ?? []),
  ];
  return { names, failure: pools.failure ?? handlers.failure };
}
