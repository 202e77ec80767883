import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useAction } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";
import { Failure } from "./failure.tsx";

interface SureButtonProps {
  label: string;
  /** Effect of the action, for people. */
  help: ComponentChildren;
  /** Called when the question opens. */
  opened?: () => void;
  /** Whether the user can confirm; default: yes. */
  isReady?: boolean;
  act(): Promise<unknown>;
  done?: () => void;
}

/** A button whose action runs after the user has confirmed it. */
export function SureButton({ label, help, act, done = () => {}, opened, isReady = true }: SureButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null);
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
        <Failure of={action.failure} />
        <p class="row">
          <button type="button" class="main" disabled={action.isRunning || !isReady} onClick={action.run}>
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
