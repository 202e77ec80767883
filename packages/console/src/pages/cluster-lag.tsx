import type { ClusterBody } from "@mainspring/contract";
import { useAnswer } from "../state/use-answer.ts";
import { durationText } from "../text/times.ts";
import { TEXTS } from "../texts.ts";

const EVERY_MS = 5_000;

/** Age of the oldest ready execution, as a figure of a list. */
export function ClusterLag() {
  const { data } = useAnswer<ClusterBody>("cluster", EVERY_MS);
  const oldest = data?.lag.oldestReadyMs ?? null;
  return (
    <div>
      <dt>{TEXTS.oldestReady}</dt>
      <dd>{oldest === null ? TEXTS.none : durationText(oldest)}</dd>
    </div>
  );
}
