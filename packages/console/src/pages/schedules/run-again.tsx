import type { ExecutionBody, JobBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import { Failure } from "../../parts/failure.tsx";
import { jsonText } from "../../parts/json-tree.tsx";
import { linkTo } from "../../state/route.ts";
import { useAction } from "../../state/use-answer.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";

/** A new one-time job like that of an execution, with another payload. */
export function RunAgain({ execution: { jobId, payload } }: { execution: ExecutionBody }) {
  const [text, setText] = useState<string | null>(null);
  const shown = text ?? (payload === null ? "" : jsonText(payload));
  const isJson = shown.trim() === "" || isJsonText(shown);
  const run = async () => {
    const { target, priority, labels, timeoutSec, retryPolicy } = await ask<JobBody>(`jobs/${jobId}`);
    const settings = JSON.stringify({ target, priority, labels, timeoutSec, retryPolicy });
    // The payload goes as the text that the user sees, so that long numbers keep their digits.
    const body = shown.trim() === "" ? settings : `${settings.slice(0, -1)},"payload":${shown}}`;
    const { executionId } = await ask<{ executionId: string }>("jobs", { method: "POST", text: body });
    location.hash = linkTo(["executions", executionId]);
  };
  const action = useAction(run);
  return (
    <details class="form">
      <summary>{SCHEDULE_TEXTS.again}</summary>
      <p class="dim">{SCHEDULE_TEXTS.againHelp}</p>
      <label>
        <span>{SCHEDULE_TEXTS.payload}</span>
        <textarea
          rows={10}
          spellcheck={false}
          value={shown}
          aria-invalid={!isJson}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {!isJson && <p role="alert">{SCHEDULE_TEXTS.notJson}</p>}
      <Failure of={action.failure} />
      <button type="button" class="main" disabled={!isJson || action.isRunning} onClick={action.run}>
        {SCHEDULE_TEXTS.runIt}
      </button>
    </details>
  );
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
