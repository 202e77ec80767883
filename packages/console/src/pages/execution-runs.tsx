import type { ExecutionCountBody, ExecutionFilter, ExecutionRunBody, ExecutionRunRequest } from "@mainspring/contract";
import { FINAL_STATES } from "@mainspring/contract/enums";
import { useState } from "preact/hooks";
import { ask } from "../api/client.ts";
import { Failure } from "../parts/failure.tsx";
import { SureButton } from "../parts/sure-button.tsx";
import { narrow, route } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAction, useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { TEXTS } from "../texts.ts";

const LIVE_MS = 1_000;
const FINAL: readonly string[] = FINAL_STATES;

/** A bounded count, as `10,000+`. */
export function boundedText({ matching, hasMore }: ExecutionCountBody): string {
  return `${countText(matching)}${hasMore ? "+" : ""}`;
}

/** Ways to handle all executions that match the filters, and the progress of the run that the address names. */
export function ExecutionRuns({ filter, reload }: { filter: ExecutionFilter; reload(): void }) {
  const { run } = route.value.query;
  const isFinal = filter.state !== undefined && FINAL.includes(filter.state);
  return (
    <>
      {may("runs:control") && (
        <p class="row">
          {!isFinal && <AllButton action="CANCEL" filter={filter} />}
          {isFinal && <AllButton action="RETRY" filter={filter} />}
        </p>
      )}
      {run !== undefined && <RunProgress key={run} runId={run} reload={reload} />}
    </>
  );
}

/** A button whose question says how many executions match. */
function AllButton({ action, filter }: ExecutionRunRequest) {
  const [count, setCount] = useState<ExecutionCountBody | null>(null);
  const body = { action, filter };
  const preview = useAction(async () => {
    setCount(null);
    setCount(await ask<ExecutionCountBody>("execution-runs/preview", { method: "POST", body }));
  });
  const start = async () => {
    const run = await ask<ExecutionRunBody>("execution-runs", { method: "POST", body });
    narrow({ run: run.runId });
  };
  const [label, sure] =
    action === "CANCEL" ? [TEXTS.cancelAll, TEXTS.cancelAllSure] : [TEXTS.retryAll, TEXTS.retryAllSure];
  const help = (
    <>
      <Failure of={preview.failure} />
      <p>{count === null ? TEXTS.counting : sure(boundedText(count))}</p>
    </>
  );
  return <SureButton label={label} help={help} opened={preview.run} isReady={count !== null} act={start} />;
}

/** How far the servers are. The run is part of the address, so the page shows it again after a reload. */
function RunProgress({ runId, reload }: { runId: string; reload(): void }) {
  const [isOver, setOver] = useState(false);
  const answer = useAnswer<ExecutionRunBody>(`execution-runs/${encodeURIComponent(runId)}`, isOver ? null : LIVE_MS);
  const { data: run, failure } = answer;
  if (run !== null && run.state !== "RUNNING" && !isOver) {
    setOver(true);
    reload();
  }
  const stop = useAction(
    () => ask(`execution-runs/${encodeURIComponent(runId)}/stop`, { method: "POST" }),
    answer.reload,
  );
  const title = run?.action === "RETRY" ? TEXTS.retryRun : TEXTS.cancelRun;
  return (
    <section aria-label={title}>
      <Failure of={failure ?? stop.failure} />
      {run !== null && <Bar run={run} title={title} />}
      <p role="status">{run !== null && progressText(run)}</p>
      <p class="row">
        {run?.state === "RUNNING" && may("runs:control") && (
          <button type="button" disabled={stop.isRunning} onClick={stop.run}>
            {TEXTS.stopRun}
          </button>
        )}
        {isOver && (
          <button type="button" class="quiet" onClick={() => narrow({ run: undefined })}>
            {TEXTS.hideRun}
          </button>
        )}
      </p>
    </section>
  );
}

/** The bar has no end while the number of executions is not known. */
function Bar({ run: { state, expected, done, refused }, title }: { run: ExecutionRunBody; title: string }) {
  const handled = done + refused;
  if (state !== "RUNNING") return <progress aria-label={title} max={1} value={state === "FINISHED" ? 1 : 0} />;
  if (expected === null || expected.hasMore) return <progress aria-label={title} />;
  const most = Math.max(expected.matching, handled, 1);
  return <progress aria-label={title} max={most} value={handled} />;
}

function progressText({ state, expected, done, refused, refusals }: ExecutionRunBody): string {
  const why = Object.entries(refusals).map(([name, count]) => `${countText(count)} ${name}`);
  const left = refused === 0 ? "" : ` ${TEXTS.runRefused(why.join(", "))}`;
  const of = expected === null ? "" : boundedText(expected);
  if (state === "RUNNING") return `${TEXTS.runGoesOn(countText(done), of)}${left}`;
  return `${state === "STOPPED" ? TEXTS.runStopped(countText(done)) : TEXTS.runEnded(countText(done))}${left}`;
}
