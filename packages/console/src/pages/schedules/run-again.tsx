import type { ExecutionBody, JobBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import { Failure } from "../../parts/failure.tsx";
import { JsonField } from "../../parts/json-field.tsx";
import { linkTo } from "../../state/route.ts";
import { useAction } from "../../state/use-answer.ts";
import { isJsonOrEmpty, jsonText } from "../../text/json-text.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";
import { withPayload } from "./job-draft.ts";

/** A new one-time job like that of an execution, with another payload. */
export function RunAgain({ execution: { jobId, payload } }: { execution: ExecutionBody }) {
  const [text, setText] = useState<string | null>(null);
  const shown = text ?? (payload === null ? "" : jsonText(payload));
  const run = async () => {
    const { target, priority, labels, timeoutSec, retryPolicy } = await ask<JobBody>(`jobs/${jobId}`);
    const body = withPayload({ target, priority, labels, timeoutSec, retryPolicy }, shown);
    const { executionId } = await ask<{ executionId: string }>("jobs", { method: "POST", text: body });
    location.hash = linkTo(["executions", executionId]);
  };
  const action = useAction(run);
  return (
    <details class="form">
      <summary>{SCHEDULE_TEXTS.again}</summary>
      <p class="dim">{SCHEDULE_TEXTS.againHelp}</p>
      <JsonField label={SCHEDULE_TEXTS.payload} value={shown} change={setText} />
      <Failure of={action.failure} />
      <button type="button" class="main" disabled={!isJsonOrEmpty(shown) || action.isRunning} onClick={action.run}>
        {SCHEDULE_TEXTS.runIt}
      </button>
    </details>
  );
}
