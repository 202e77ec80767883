import { useMemo } from "preact/hooks";
import { isRelative, now, zone } from "../state/preferences.ts";
import { linkTo } from "../state/route.ts";
import { absoluteText, durationText, relativeText } from "../text/times.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

const NAME_CHARS_MAX = 200;

/** A name from elsewhere, which cannot reorder the text around it. */
export function Name({ of }: { of: string | null }) {
  if (of === null) return <span class="dim">{TEXTS.none}</span>;
  const text = visible(of);
  const isLong = text.length > NAME_CHARS_MAX;
  return <bdi title={isLong ? text : undefined}>{isLong ? `${text.slice(0, NAME_CHARS_MAX)}…` : text}</bdi>;
}

/** Link to the page of an id, by the end of the id, where ids of the same time differ. */
export function IdLink({ page, id }: { page: "executions" | "jobs" | "workflows"; id: string }) {
  return (
    <a href={linkTo([page, id])}>
      <code class="id" title={id}>
        …{id.slice(-12)}
      </code>
    </a>
  );
}

/** An instant, in the form that the user has chosen; the other form is its title. */
export function Time({ at }: { at: string | null }) {
  const clocks = zone.value;
  const far = useMemo(() => (at === null ? "" : absoluteText(Date.parse(at), clocks)), [at, clocks]);
  if (at === null) return <span class="dim">–</span>;
  const near = relativeText(Date.parse(at), now.value);
  return (
    <time dateTime={at} title={isRelative.value ? far : near}>
      {isRelative.value ? near : far}
    </time>
  );
}

/** Time between two instants. @param to null: until now */
export function Span({ from, to }: { from: string | null; to: string | null }) {
  if (from === null) return <span class="dim">–</span>;
  const endMs = to === null ? now.value : Date.parse(to);
  return <span>{durationText(Math.max(0, endMs - Date.parse(from)))}</span>;
}

/** A state, by its word and a colour. */
export function State({ of }: { of: string }) {
  return <span class={`state state-${of.toLowerCase()}`}>{of}</span>;
}
