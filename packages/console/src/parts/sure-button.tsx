import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAction } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";
import { Failure } from "./failure.tsx";

interface SureButtonProps {
  label: string;
  /** Effect of the action, for people. */
  help: ComponentChildren;
  /** Text that the user must type first, for what cannot be taken back. */
  typed?: string;
  /** Called when the question opens. */
  opened?: () => void;
  /** Whether the user can confirm; default: yes. */
  isReady?: boolean;
  act(): Promise<unknown>;
  done?: () => void;
}

/** A button whose action runs after the user has confirmed it. */
export function SureButton({ label, help, typed, act, done = () => {}, opened, isReady = true }: SureButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [given, setGiven] = useState("");
  const isTyped = typed === undefined || given === typed;
  const open = () => {
    dialog.current?.showModal();
    opened?.();
  };
  const close = () => dialog.current?.close();
  const action = useAction(act, () => {
    close();
    done();
  });
  return (
    <>
      <button type="button" onClick={open}>
        {label}
      </button>
      <dialog ref={dialog} aria-label={label}>
        <h2>{label}</h2>
        {typeof help === "string" ? <p>{help}</p> : help}
        {typed !== undefined && (
          <label>
            <span>{TEXTS.typeIt(typed)}</span>{" "}
            <input value={given} onInput={(event) => setGiven(event.currentTarget.value)} />
          </label>
        )}
        <Failure of={action.failure} />
        <p class="row">
          <button type="button" class="main" disabled={action.isRunning || !isReady || !isTyped} onClick={action.run}>
            {label}
          </button>
          <button type="button" class="quiet" onClick={close}>
            {TEXTS.back}
          </button>
        </p>
      </dialog>
    </>
  );
}
