import { useRef } from "preact/hooks";
import { useAction } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";
import { Failure } from "./failure.tsx";

interface SureButtonProps {
  label: string;
  /** Effect of the action, for people. */
  help: string;
  act(): Promise<unknown>;
  done?: () => void;
}

/** A button whose action runs after the user has confirmed it. */
export function SureButton({ label, help, act, done = () => {} }: SureButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null);
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
        <Failure of={action.failure} />
        <p class="row">
          <button type="button" class="main" disabled={action.isRunning} onClick={action.run}>
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
