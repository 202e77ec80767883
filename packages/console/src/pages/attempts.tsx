import type { ExecutionBody } from "@mainspring/contract";
import type { ExecutionError } from "../api/answers.ts";
import { LongText } from "../parts/json-tree.tsx";
import { Table, usePart } from "../parts/list.tsx";
import { Name, Span, State, Time } from "../parts/text.tsx";
import { now } from "../state/preferences.ts";
import { linkTo, route } from "../state/route.ts";
import { phasesOf } from "../text/phases.ts";
import { durationText } from "../text/times.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

/** Attempts that have ended, and the time between them. */
export function Attempts({ execution }: { execution: ExecutionBody }) {
  const { attempts, executionId } = execution;
  const { from, to, controls } = usePart(attempts.length);
  return (
    <section>
      <h2>{TEXTS.timeline}</h2>
      <PhaseBar execution={execution} />
      {controls}
      {attempts.length > 0 && (
        <Table
          caption={TEXTS.attempts}
          rows={attempts.slice(from, to).reverse()}
          keyOf={({ attempt }) => `${attempt}`}
          columns={[
            {
              title: TEXTS.attempt,
              cell: ({ attempt }) => (
                <a href={linkTo(["executions", executionId], { ...route.value.query, attempt: `${attempt}` })}>
                  {attempt}
                </a>
              ),
            },
            { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
            { title: TEXTS.worker, cell: ({ workerId }) => <Name of={workerId} /> },
            { title: TEXTS.started, cell: ({ startedAt }) => <Time at={startedAt} /> },
            { title: TEXTS.duration, cell: ({ startedAt, finishedAt }) => <Span from={startedAt} to={finishedAt} /> },
            { title: TEXTS.error, cell: ({ error }) => <Name of={error && `${error.name}: ${error.message}`} /> },
          ]}
        />
      )}
    </section>
  );
}

function PhaseBar({ execution }: { execution: ExecutionBody }) {
  const { state, attempts, startedAt } = execution;
  const runningSince = state === "RUNNING" ? (attempts.at(-1)?.finishedAt ?? startedAt) : null;
  const phases = phasesOf(execution, runningSince, now.value);
  const text = phases.map(({ kind, ms }) => `${TEXTS.phases[kind]} ${durationText(ms)}`).join(", ");
  return (
    <>
      <div class="phases" role="img" aria-label={visible(text).slice(0, 2_000)}>
        {phases.map(({ kind, ms }, place) => (
          <span
            key={place}
            class={`phase-${kind}`}
            style={{ flexGrow: ms }}
            title={`${TEXTS.phases[kind]} ${durationText(ms)}`}
          />
        ))}
      </div>
      <p class="dim">{text.slice(0, 300)}</p>
    </>
  );
}

/** An error with its stack. */
export function ErrorText({ error: { name, message, stack } }: { error: ExecutionError }) {
  return (
    <section>
      <h2>{TEXTS.error}</h2>
      <p class="wide">
        <strong>
          <Name of={name} />
        </strong>
        : <bdi>{visible(message)}</bdi>
      </p>
      {stack !== undefined && <LongText text={stack} label={TEXTS.stack} />}
    </section>
  );
}
