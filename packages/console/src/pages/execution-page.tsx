import type { ExecutionBody } from "@mainspring/contract";
import { FINAL_STATES } from "@mainspring/contract/enums";
import { useEffect, useRef } from "preact/hooks";
import { ask } from "../api/client.ts";
import { follow } from "../api/follow.ts";
import { Failure, Loading } from "../parts/failure.tsx";
import { Figure } from "../parts/figure.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { SureButton } from "../parts/sure-button.tsx";
import { Name, Span, State, Time } from "../parts/text.tsx";
import { linkTo } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";
import { Attempts, ErrorText } from "./attempts.tsx";
import { Explanation } from "./explanation.tsx";
import { LogLines } from "./log-lines.tsx";
import { RunAgain } from "./schedules/run-again.tsx";
import { Steps } from "./steps.tsx";

/** Shortest time between two reads of an execution that has many events. */
const RELOAD_MS = 500;
const PROGRESS_MS = 2_000;

/** One execution: its facts, attempts, reasons, texts and actions. It follows the execution until its end. */
export function ExecutionPage({ id }: { id: string }) {
  const { data, failure, reload } = useAnswer<ExecutionBody>(`executions/${encodeURIComponent(id)}`);
  const isFinal = data !== null && FINAL_STATES.some((state) => state === data.state);
  useFollowed(id, isFinal, reload);
  return (
    <>
      <Failure of={failure} retry={reload} />
      {data === null && failure === null && <Loading />}
      {data !== null && <Details execution={data} isFinal={isFinal} reload={reload} />}
    </>
  );
}

/** Reads the execution again after its events, until it is final. */
function useFollowed(id: string, isFinal: boolean, reload: () => void): void {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    if (isFinal) return undefined;
    const soon = () => {
      timer.current ??= setTimeout(() => {
        timer.current = null;
        reload();
      }, RELOAD_MS);
    };
    const stop = follow(`executions/${encodeURIComponent(id)}/events`, soon);
    const beat = setInterval(soon, PROGRESS_MS);
    return () => {
      stop();
      clearInterval(beat);
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, [id, isFinal, reload]);
}

interface DetailsProps {
  execution: ExecutionBody;
  isFinal: boolean;
  reload(): void;
}

function Details({ execution, isFinal, reload }: DetailsProps) {
  return (
    <>
      <p>
        <code>{execution.executionId}</code> <State of={execution.state} />{" "}
        {execution.reason !== null && <Name of={execution.reason} />}
      </p>
      <Actions {...{ execution, isFinal, reload }} />
      {execution.progress !== null && <ProgressBar {...execution.progress} />}
      <Facts {...execution} />
      {execution.error !== null && <ErrorText error={execution.error} />}
      {!isFinal && <Explanation of={`executions/${execution.executionId}`} />}
      <Attempts {...{ execution }} />
      <LogLines {...{ execution, isFinal }} />
      <Steps {...{ execution }} />
      {may("jobs:submit") && execution.workflowId === undefined && <RunAgain execution={execution} />}
      <div class="columns">
        <section>
          <h2>{TEXTS.payload}</h2>
          <JsonView value={execution.payload} label={TEXTS.payload} />
        </section>
        <section>
          <h2>{TEXTS.result}</h2>
          <JsonView value={execution.result} label={TEXTS.result} />
        </section>
      </div>
    </>
  );
}

function Actions({ execution: { executionId }, isFinal, reload }: DetailsProps) {
  if (!may("runs:control")) return null;
  const path = `executions/${executionId}`;
  const retry = async () => {
    const made = await ask<{ executionId: string }>(`${path}/retry`, { method: "POST", body: {} });
    location.hash = linkTo(["executions", made.executionId]);
  };
  return (
    <p class="row">
      {!isFinal && (
        <SureButton
          label={TEXTS.cancelExecution}
          help={TEXTS.cancelSure}
          act={() => ask(`${path}/cancel`, { method: "POST" })}
          done={reload}
        />
      )}
      {isFinal && <SureButton label={TEXTS.retryExecution} help={TEXTS.retrySure} act={retry} />}
    </p>
  );
}

function ProgressBar({ fraction, message }: { fraction: number; message: string }) {
  return (
    <p class="row">
      <progress value={fraction} max={1} aria-label={TEXTS.progress} />
      <span>
        {Math.round(fraction * 100)} % <Name of={message} />
      </span>
    </p>
  );
}

function Facts(execution: ExecutionBody) {
  const { jobId, retryOf, workflowId, node } = execution;
  return (
    <dl class="figures facts">
      <Figure title={TEXTS.job}>
        <a href={linkTo(["jobs", jobId])}>{jobId}</a>
      </Figure>
      <Figure title={TEXTS.handler}>
        <Name of={execution.handler} />
      </Figure>
      <Figure title={TEXTS.pool}>
        <Name of={execution.pool} />
      </Figure>
      <Figure title={TEXTS.worker}>
        <Name of={execution.assignedWorker} />
      </Figure>
      <Figure title={TEXTS.scheduled}>
        <Time at={execution.scheduledAt} />
      </Figure>
      <Figure title={TEXTS.started}>
        <Time at={execution.startedAt} />
      </Figure>
      <Figure title={TEXTS.duration}>
        <Span from={execution.startedAt} to={execution.finishedAt} />
      </Figure>
      <Figure title={TEXTS.attempt}>
        {execution.attempt} / {execution.maxAttempts}
      </Figure>
      <Figure title={TEXTS.trigger}>{execution.trigger}</Figure>
      {retryOf !== null && (
        <Figure title={TEXTS.retryOf}>
          <a href={linkTo(["executions", retryOf])}>{retryOf}</a>
        </Figure>
      )}
      {workflowId !== undefined && (
        <Figure title={TEXTS.workflow}>
          <a href={linkTo(["workflows", workflowId], { node: node ?? undefined })}>{workflowId}</a>{" "}
          <Name of={node ?? null} />
        </Figure>
      )}
    </dl>
  );
}
