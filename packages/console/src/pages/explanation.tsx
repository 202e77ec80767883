import type { ExplanationBody } from "@mainspring/contract";
import { Failure } from "../parts/failure.tsx";
import { useAnswer } from "../state/use-answer.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

const EVERY_MS = 3_000;

/**
 * Every reason for which an execution, or a node of a workflow, waits, in words and with its figures.
 * @param of path of the execution or the node
 */
export function Explanation({ of }: { of: string }) {
  const { data, failure } = useAnswer<Pick<ExplanationBody, "reasons">>(`${of}/explain`, EVERY_MS);
  return (
    <section aria-live="polite">
      <h2>{TEXTS.why}</h2>
      <Failure of={failure} />
      <ul>
        {data?.reasons.map((reason) => (
          <li key={JSON.stringify(reason)}>
            {/* A newer server may send reasons that this page does not know. */}
            {TEXTS.meanings[reason.reason] ?? reason.reason} <span class="dim">{figuresOf(reason)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function figuresOf({ reason: _reason, ...figures }: ExplanationBody["reasons"][number]): string {
  const texts = Object.entries(figures).map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return visible(texts.join(", "));
}
