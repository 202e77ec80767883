import type { TargetedSubmitEvent } from "preact";
import { useRef } from "preact/hooks";
import { Failure } from "../parts/failure.tsx";
import { logIn } from "../state/session.ts";
import { useAction } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";

/** Exchanges an API key for a session. The key is in the field alone, never in the address. */
export function LoginPage() {
  const field = useRef<HTMLInputElement>(null);
  const action = useAction(() => logIn(field.current?.value.trim() ?? ""));
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run();
  };
  return (
    <form class="login" onSubmit={submit}>
      <h1>{TEXTS.login}</h1>
      <p>{TEXTS.loginHelp}</p>
      <label>
        {TEXTS.key}
        <input ref={field} type="password" autocomplete="off" required maxLength={2_800} />
      </label>
      <button type="submit" class="main" disabled={action.isRunning}>
        {TEXTS.login}
      </button>
      <Failure of={action.failure} />
      <p class="dim">{TEXTS.keyWhere}</p>
    </form>
  );
}
