import type { AttemptLogsBody, ExecutionBody } from "@mainspring/contract";
import { useEffect } from "preact/hooks";
import { Failure } from "../parts/failure.tsx";
import { usePart } from "../parts/list.tsx";
import { route } from "../state/route.ts";
import { useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

const LIVE_MS = 2_000;

interface LogLinesProps {
  execution: ExecutionBody;
  isFinal: boolean;
}

/** Log lines of an attempt: the one that the address names, or the newest. */
export function LogLines({ execution: { executionId, attempt: newest }, isFinal }: LogLinesProps) {
  const named = Number(route.value.query["attempt"]);
  const attempt = Number.isInteger(named) && named > 0 ? named : newest;
  const isLive = !isFinal && attempt === newest;
  const path = attempt === 0 ? null : `executions/${executionId}/attempts/${attempt}/logs`;
  const { data, failure, reload } = useAnswer<AttemptLogsBody>(path, isLive ? LIVE_MS : null);
  // The last lines may have come with the end.
  useEffect(() => {
    if (isFinal) reload();
  }, [isFinal, reload]);
  return (
    <section>
      <h2>
        {TEXTS.logs} {attempt > 0 && TEXTS.logsOf(attempt)}
      </h2>
      <Failure of={failure} retry={reload} />
      {data !== null && <Lines logs={data} />}
    </section>
  );
}

function Lines({ logs: { lines, droppedLines, url } }: { logs: AttemptLogsBody }) {
  const { from, to, controls } = usePart(lines.length);
  if (url !== null) {
    return (
      <p>
        {TEXTS.logsElsewhere}{" "}
        <a href={url} rel="noreferrer">
          {url}
        </a>
      </p>
    );
  }
  if (lines.length === 0) return <p class="dim">{TEXTS.logsNone}</p>;
  const text = lines
    .slice(from, to)
    .map(({ at, level, line }) => `${at} ${level} ${visible(line)}`)
    .join("\n");
  return (
    <>
      {droppedLines > 0 && <p class="dim">{TEXTS.logsDropped(countText(droppedLines))}</p>}
      {controls}
      <pre role="region" tabIndex={0} aria-label={TEXTS.logs}>
        {text}
      </pre>
    </>
  );
}
