import { useRef, useState } from "preact/hooks";
import { useAction } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";
import { Failure } from "./failure.tsx";

interface SureButtonProps {
  label: string;
  /** Effect of the action, for people. */
  help: string;
  /** Text that the user must type first, for what cannot be taken back. */
  typed?: string;
  act(): Promise<unknown>;
  done?: () => void;
}

/** A button whose action runs after the user has confirmed it. */
export function SureButton({ label, help, typed, act, done = () => {} }: SureButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [given, setGiven] = useState("");
  const close = () => dialog.current?.close();
  const action = useAction(act, () => {
    close();
    done();
  });
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-label={label}>
        <h2>{label}</h2>
        <p>{help}</p>
        {typed !== undefined && (
          <label>
            <span>{TEXTS.typeIt(typed)}</span>{" "}
            <input value={given} onInput={(event) => setGiven(event.currentTarget.value)} />
          </label>
        )}
        <Failure of={action.failure} />
        <p class="row">
          <button
            type="button"
            class="main"
            disabled={action.isRunning || (typed !== undefined && given !== typed)}
            onClick={action.run}
          >
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
